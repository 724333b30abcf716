package gouprobe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// roleVariable makes the test binary something else than a test.
const roleVariable = "OTELGC_GOUPROBE_ROLE"

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		attachOnly()
		return
	}
	noleak.Main(m)
}

// toolchains are one of each release that is known.
var toolchains = []string{"go1.22.12", "go1.23.12", "go1.24.13", "go1.25.9", "local"}

// build compiles the target with a toolchain, and skips where there is none.
func build(t testing.TB, toolchain string, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	files, err := filepath.Glob("testdata/target/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module target\n\ngo 1.22\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) ([]byte, error) {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOTOOLCHAIN="+toolchain, "GOWORK=off", "CGO_ENABLED=0")
		if strings.Contains(strings.Join(args, " "), "external") {
			cmd.Env = append(cmd.Env, "CGO_ENABLED=1")
		}
		return cmd.CombinedOutput()
	}
	if out, err := run("version"); err != nil {
		t.Skipf("no toolchain %s: %v: %s", toolchain, err, out)
	}
	exe := filepath.Join(dir, "target")
	if out, err := run(append(append([]string{"build", "-o", exe}, args...), ".")...); err != nil {
		t.Fatalf("build with %s: %v: %s", toolchain, err, out)
	}
	return exe
}

// answer is what the target says.
type answer struct {
	Collections uint32
	Pause       uint64
	Sum         int
}

// targetProcess is one that does as it is told.
type targetProcess struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// start starts the target, as options have it.
func start(t testing.TB, exe string, options ...func(*exec.Cmd)) *targetProcess {
	t.Helper()
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), "GODEBUG=", "GOGC=50")
	for _, o := range options {
		o(cmd)
	}
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &targetProcess{t, cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed
	})
	p.line("ready")
	return p
}

func asUser(id uint32) func(*exec.Cmd) {
	return func(c *exec.Cmd) {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: id, Gid: id}}
	}
}

func withEnv(v string) func(*exec.Cmd) { return func(c *exec.Cmd) { c.Env = append(c.Env, v) } }

func (p *targetProcess) pid() int { return p.cmd.Process.Pid }

func (p *targetProcess) line(want string) string {
	p.t.Helper()
	s, err := p.out.ReadString('\n')
	if err != nil || want != "" && s != want+"\n" {
		p.t.Fatalf("the target says %q, %v, want %q", s, err, want)
	}
	return s
}

// tell sends a command, and hear returns what it answers.
func (p *targetProcess) tell(command string) {
	p.t.Helper()
	if _, err := io.WriteString(p.in, command+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

func (p *targetProcess) hear() (a answer) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.line("")), &a); err != nil {
		p.t.Fatal(err)
	}
	return a
}

func (p *targetProcess) ask(command string) answer {
	p.t.Helper()
	p.tell(command)
	return p.hear()
}

func clock(t testing.TB) stall.Clock {
	t.Helper()
	c, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// attachTo attaches, and skips where this is not allowed here, or the kernel cannot.
func attachTo(t testing.TB, pid int) *Source {
	t.Helper()
	s, err := Attach(Options{PID: pid, Clock: clock(t)})
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, stall.ErrNotSupported) {
		t.Skipf("cannot attach here: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // the test has looked at it
	return s
}

// seen is all that a source said.
type seen struct {
	batches     []source.Batch
	intervals   []stall.Interval
	reasons     map[string]int
	collections []gc.Collection
	lost        uint64
	midst       bool // it may have begun in a collection
}

// add adds a batch, the last of s.
func (all *seen) add(s *Source, b source.Batch) {
	for i := range b.Intervals {
		all.reasons[s.Evidence(i)]++
	}
	all.intervals = append(all.intervals, b.Intervals...)
	all.collections = append(all.collections, b.Collections...)
	all.lost += b.Lost.Count
	b.Unseen = append([]stall.Span(nil), b.Unseen...)
	b.Intervals, b.Collections = nil, nil
	all.batches = append(all.batches, b)
}

// follow collects what a source says until it is over.
func follow(t testing.TB, s *Source) (wait func() *seen) {
	return followOn(t, s, &seen{reasons: map[string]int{}})
}

// followOn goes on with what was seen before.
func followOn(t testing.TB, s *Source, all *seen) (wait func() *seen) {
	done := make(chan *seen, 1)
	go func() {
		defer func() { done <- all }()
		for {
			b, err := s.Next(context.Background())
			if err != nil {
				if err != io.EOF {
					t.Error(err)
				}
				return
			}
			all.add(s, b)
		}
	}()
	return func() *seen {
		t.Helper()
		select {
		case all := <-done:
			return all
		case <-time.After(3 * time.Minute):
			t.Fatal("the source does not end")
			return nil
		}
	}
}

// stop closes a source and returns all that it said.
func stop(t testing.TB, s *Source, wait func() *seen) *seen {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	return wait()
}
