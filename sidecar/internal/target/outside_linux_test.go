package target

import (
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// targets are the processes that a recording is told of.
type targets struct {
	mu   sync.Mutex
	list []recording.Target
	all  []recording.Record // of records
}

func (r *targets) add(o recording.Record) {
	if v, ok := o.(recording.Target); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.list = append(r.list, v)
	}
}

// last returns what was told last, and how often something was.
func (r *targets) last() (recording.Target, int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return recording.Target{}, 0
	}
	return r.list[len(r.list)-1], len(r.list)
}

// waits starts a command that ends when the test does.
func waits(t *testing.T, env []string, name string, args ...string) (pid int, in io.Writer) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = env
	pipe, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = pipe.Close()
		_ = c.Wait() // how it ends is nothing to this test
	})
	return c.Process.Pid, pipe
}

// TestLauncherBecomesGoProgram: what is told is of the program that runs in the end.
func TestLauncherBecomesGoProgram(t *testing.T) {
	needProbes(t)
	pid, in := waits(t, []string{goSleeper + "=1"}, "/bin/sh", "-c", "read go; exec /proc/"+strconv.Itoa(os.Getpid())+"/exe")
	var told targets
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(pid)), Record: told.add})
	r.await("no .NET runtime to attach to", 1)
	if got, n := told.last(); n != 1 || got.Runtime != recording.UnknownRuntime || !strings.Contains(got.Unwatched, "it is no Go program") {
		t.Fatalf("told %d times, last %+v, want once that it is neither", n, got)
	}
	if _, err := io.WriteString(in, "go\n"); err != nil {
		t.Fatal(err)
	}
	r.await("watching a Go process", 1)
	if got, n := told.last(); n != 2 || got.Runtime != "go" || got.ID != 1 || got.Unwatched != "" {
		t.Errorf("told %d times, last %+v, want the Go program as the same target", n, got)
	}
}

// TestGoProgramThatIsBeingExecuted: what it was started with is not known yet, and is
// looked at again.
func TestGoProgramThatIsBeingExecuted(t *testing.T) {
	root := filepath.Join(t.TempDir(), "proc")
	fakeProcess(t, root, 7, "orders", "")
	for name, to := range map[string]string{"exe": "/proc/self/exe", "status": "/proc/self/status", "cgroup": "/proc/self/cgroup"} {
		if err := os.Symlink(to, filepath.Join(root, "7", name)); err != nil {
			t.Fatal(err)
		}
	}
	environment := filepath.Join(root, "7", "environ")
	if err := os.WriteFile(environment, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var told targets
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Proc: dotnetipc.Proc{Root: root}, Clock: clock, Log: slog.New(slog.DiscardHandler), Record: told.add}
	p := newProcess(o, dotnetipc.Identity{PID: 7})
	p.outside.asked, p.failure = true, dotnetipc.ErrNoSocket
	if p.lookOutside(t.Context()) || p.outside.why != "" {
		t.Errorf("a program that is being executed is said to be: %+v", p.outside)
	}
	fakeProcess(t, root, 7, "orders", "orders\x00")
	if err := os.WriteFile(environment, []byte("GOGC=50\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !p.lookOutside(t.Context()) {
		t.Errorf("a program that was executed is said to be: %+v", p.outside)
	}
	g, err := p.lookAtGo(t.Context())
	if err != nil || g.line()["GOGC"] != "50 as started" {
		t.Errorf("got %+v, %v, want a program with GOGC 50", g, err)
	}
}

// TestOthersAreNotLookedAt: with auto nobody but .NET processes is looked at.
func TestOthersAreNotLookedAt(t *testing.T) {
	p := &process{summary: Summary{}, failure: io.EOF}
	p.lookOutside(t.Context())
	if p.outside.why != "" || p.summary.Service != "" {
		t.Errorf("looked at a process that nobody named: %+v", p.outside)
	}
}
