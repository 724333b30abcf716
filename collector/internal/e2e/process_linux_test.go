package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is how long the test waits for something that must come. It is a
// guard against waiting for ever, and says nothing about speed.
const patience = 5 * time.Minute

// process is one program under test, and what it printed.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has exited, and all that it printed is read

	mu   sync.Mutex
	text strings.Builder
}

// start runs a program with env added to an environment without any of the
// machine's own OTEL_* and OTELGC_* settings. It is killed when the test ends.
func start(t *testing.T, env []string, path string, args ...string) *process {
	t.Helper()
	return startAs(t, asItIs, env, path, args...)
}

// startAs starts a program as prepare says.
func startAs(t *testing.T, prepare func(*exec.Cmd), env []string, path string, args ...string) *process {
	t.Helper()
	p := &process{name: filepath.Base(path), cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Env = append(cleanEnv(), env...)
	// Should the test itself be killed, nothing stays behind.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	prepare(p.cmd)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); errors.Is(err, syscall.EPERM) {
		t.Skipf("skipped: start %s: %v: run as root", p.name, err)
	} else if err != nil {
		t.Fatal(err)
	}
	w.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer r.Close()
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 64<<20) // a document is one line, with all gaps of a busy machine
		for lines.Scan() {
			p.mu.Lock()
			fmt.Fprintln(&p.text, lines.Text())
			p.mu.Unlock()
		}
	}()
	go func() {
		_ = p.cmd.Wait() // the code is in ProcessState
		<-read           // who waits for its end asks for its last words
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said:\n%s", p.name, tail(p.output(), 20000))
		}
	})
	return p
}

func cleanEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OTEL") {
			env = append(env, v)
		}
	}
	return env
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// kill ends the process with no chance to say anything more.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may be gone already
	<-p.done
}

// stop asks the process to end and waits until it has.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatalf("stop %s: %v", p.name, err)
	}
	p.wait(t)
}

// wait waits until the process has ended.
func (p *process) wait(t *testing.T) {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("%s hangs", p.name)
	}
}

// end is stop, after which it must have ended well.
func (p *process) end(t *testing.T) {
	t.Helper()
	p.stop(t)
	p.succeed(t)
}

// succeed waits until the process has ended, and it must have ended well.
func (p *process) succeed(t *testing.T) {
	t.Helper()
	p.wait(t)
	if !p.cmd.ProcessState.Success() {
		t.Fatalf("%s ended with %v\n%s", p.name, p.cmd.ProcessState, tail(p.output(), 20000))
	}
}

// over reports whether the process is gone.
func (p *process) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// alive fails the test if the process is gone.
func (p *process) alive(t *testing.T) {
	t.Helper()
	if p.over() {
		t.Fatalf("%s ended: %v\n%s", p.name, p.cmd.ProcessState, tail(p.output(), 20000))
	}
}

// resident returns the memory of the process in bytes.
func (p *process) resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no VmRSS in the status of %s", p.name)
	}
	kb, err := strconv.ParseInt(string(m[1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// eventually calls try until it returns nil. ps must stay alive meanwhile.
func eventually(t *testing.T, what string, try func() error, ps ...*process) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		for _, p := range ps {
			p.alive(t)
		}
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

func tail(s string, n int) string {
	if len(s) > n {
		return "..." + s[len(s)-n:]
	}
	return s
}
