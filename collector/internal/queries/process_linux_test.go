package queries

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience is a guard against waiting for ever, and says nothing about speed.
const patience = 5 * time.Minute

// process is one program under test, and what it printed.
type process struct {
	cmd  *exec.Cmd
	done chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(b)
}

// start runs a program with env added to an environment without any of the
// machine's own OTEL* settings. It is killed when the test ends.
func start(t *testing.T, env []string, path string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(path, args...), done: make(chan struct{})}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "OTEL") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the code is in ProcessState
		close(p.done)
	}()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may be gone already
		<-p.done
		if t.Failed() {
			text := p.text.Bytes()
			t.Logf("%s said:\n...%s", filepath.Base(path), text[max(0, len(text)-8000):])
		}
	})
	return p
}

// eventually calls try until it returns nil. ps must stay alive meanwhile.
func eventually(t *testing.T, what string, try func() error, ps ...*process) {
	t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		for _, p := range ps {
			select {
			case <-p.done:
				t.Fatalf("%s: %s ended", what, p.cmd.Path)
			default:
			}
		}
		if err = try(); err == nil {
			return
		}
	}
	t.Fatalf("%s: %v", what, err)
}

// addresses returns n loopback addresses that nobody listens on, of ports that
// Linux hands out to nobody by itself (ip_local_port_range begins at 32768). Of each
// the UDP port is taken until the test ends: other tests do as much.
func addresses(t *testing.T, n int) (addrs []string) {
	t.Helper()
	for tries := 0; len(addrs) < n && tries < 1000; tries++ {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(12_000))
		taken, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		t.Cleanup(func() { _ = taken.Close() }) // nothing was said on it
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close() // it is only asked whether it is free
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) < n {
		t.Fatal("no free port")
	}
	return addrs
}

// build makes a program of the tree.
func build(t *testing.T, module, pkg string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", out, pkg)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("build %s: %w\n%s", pkg, err, text))
	}
	return out
}
