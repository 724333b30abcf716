package hostwatch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
)

// TestStopped: a process that a signal stopped was not left alone by the machine,
// nor held up by it.
func TestStopped(t *testing.T) {
	pid := child(t, "spin1", -1)
	p, err := hostcount.Open(os.DirFS("/"), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	checkHeld(t, pid, func() {
		if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		untilState(t, p, "T")
	}, func() {
		if err := unix.Kill(pid, unix.SIGCONT); err != nil {
			t.Error(err)
		}
	})
}

// untilState waits until all threads are in a state (proc_pid_stat(5), field 3).
func untilState(t *testing.T, p *hostcount.Process, want string) {
	t.Helper()
	for all := false; !all; time.Sleep(time.Millisecond) {
		all = true
		_, err := p.Threads(1000, func(tid string) {
			state, err := p.State(tid)
			all = all && err == nil && state == want
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestFrozen is the same of a freezer, which holds a thread that sleeps without an
// event.
func TestFrozen(t *testing.T) {
	for name, f := range freezers {
		t.Run(name, func(t *testing.T) {
			dir := makeGroup(t, f.place)
			pid := child(t, "sleep", -1)
			enter(t, dir, pid)
			write := func(value string) {
				if err := set(filepath.Join(dir, f.file), value); err != nil {
					t.Fatal(err)
				}
			}
			freeze := func() {
				write(f.frozen)
				for !isFrozen(dir) { // a thread that sleeps wakes up to be frozen
					time.Sleep(time.Millisecond)
				}
			}
			checkHeld(t, pid, freeze, func() { write(f.value) })
		})
	}
}

// isFrozen reports whether the freezer is done: FREEZING comes before FROZEN in v1.
func isFrozen(dir string) bool {
	v1, _ := os.ReadFile(filepath.Join(dir, "freezer.state"))
	v2, _ := os.ReadFile(filepath.Join(dir, "cgroup.events"))
	return strings.HasPrefix(string(v1), "FROZEN") || strings.Contains(string(v2), "frozen 1")
}

// checkHeld has a process held for a while, and wants nothing of that covered, nor
// denied, and the rest covered again.
func checkHeld(t *testing.T, pid int, hold, release func()) {
	t.Helper()
	l := &log{}
	w := start(t, Options{PID: pid}, l)
	l.awaitCovered(t, 0)
	hold()
	before := schedstat(t, pid)
	held := stall.Span{Start: w.o.Clock.Now()}
	time.Sleep(4 * restEvery)
	held.End = w.o.Clock.Now()
	after := schedstat(t, pid)
	release()
	taken := make(chan struct{})
	w.ask <- taken // a batch ends before its counters are read: this one before the release
	<-taken
	if after != before { // whoever thaws these tests' own group, or continues it
		t.Skipf("skipped: somebody woke it while it was held: it ran and waited for %+v, and before for %+v", after, before)
	}
	l.awaitCovered(t, held.End)
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	for i := range l.batches {
		b := &l.batches[i]
		for _, s := range b.Covered {
			if d := s.Clip(held).Duration(); d > 0 {
				t.Errorf("covered for %v while it was held", d)
			}
		}
		for _, v := range b.Denied {
			if d := (stall.Span{Start: v.Start, End: v.End}).Clip(held).Duration(); d > 0 {
				t.Errorf("%v for %v while it was held", v.Cause, d)
			}
		}
	}
}
