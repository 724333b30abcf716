package hostwatch

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
)

// hooked is a root that calls look when the threads of a process are listed.
type hooked struct {
	fs.FS
	look func()
}

func (h *hooked) Open(name string) (fs.File, error) {
	if h.look != nil && strings.HasSuffix(name, "/task") {
		h.look()
	}
	return h.FS.Open(name)
}

// still makes a watch that has not begun.
func still(t *testing.T, pid int, root fs.FS) *Watch {
	t.Helper()
	p, err := hostcount.Open(root, pid)
	if err != nil {
		t.Fatal(err)
	}
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	w := &Watch{o: Options{PID: pid, Clock: clock}, process: p, timeline: newTimeline(maxThreads, threshold)}
	if w.follow(); w.scheduler == nil {
		t.Skipf("the scheduler cannot be followed here: %v", w.why)
	}
	t.Cleanup(func() {
		if err := w.detach(); err != nil {
			t.Error(err)
		}
	})
	if err := w.count(); err != nil {
		t.Fatal(err)
	}
	return w
}

// TestEventsFromBefore: an event that is older than what /proc says of its thread
// does not outrank it. What followed it may have been lost.
func TestEventsFromBefore(t *testing.T) {
	pid := child(t, "sleep", -1)
	w := still(t, pid, os.DirFS("/"))
	untilState(t, w.process, "S")
	w.events = []event{{at: w.o.Clock.Now().Add(-time.Millisecond), tid: int32(pid), kind: woken}}
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	if got := w.timeline.threads[int32(pid)].state; got == ready {
		t.Errorf("state of a thread that sleeps: got %v, ready, which an event of before said", got)
	}
}

// TestLostWhileItBegins: the batch after a loss of events while the threads are
// looked at begins again.
func TestLostWhileItBegins(t *testing.T) {
	root := &hooked{FS: os.DirFS("/")}
	l := &log{}
	w := still(t, child(t, "sleep", -1), root)
	untilState(t, w.process, "S") // its begin may take a busy machine long
	root.look = func() {
		if err := w.scheduler.drops.Put(uint32(0), uint64(7)); err != nil {
			t.Error(err)
		}
	}
	if err := w.begin(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * holdBack)
	if err := w.look(); err != nil {
		t.Fatal(err)
	}
	l.add(&w.seen)
	if b := &l.batches[0]; len(b.Covered) > 0 {
		t.Errorf("after a loss %v are covered: %+v", b.Covered, b.Totals)
	}
	for since := time.Now(); l.batches[len(l.batches)-1].Totals.Covered == 0; time.Sleep(10 * holdBack) {
		if time.Since(since) > 3*time.Minute {
			t.Fatal("nothing is covered after it began again")
		}
		if err := w.look(); err != nil {
			t.Fatal(err)
		}
		l.add(&w.seen)
	}
	if got := l.batches[1].Totals.Dropped; got != 7 {
		t.Errorf("dropped: got %d, want 7", got)
	}
}

// TestBeginsAmongWakeUps attaches to a process whose threads wake all the time. A
// thread that woke and slept again before the watch began is not one that waits.
func TestBeginsAmongWakeUps(t *testing.T) {
	pid := child(t, "nap", -1)
	p, err := hostcount.Open(os.DirFS("/"), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	kernels := func() time.Duration {
		now, err := p.Read(clock.Now, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return now.RunDelay.Or(0)
	}
	for now := kernels(); now == 0; now = kernels() {
		time.Sleep(10 * time.Millisecond) // its threads are not there yet
	}
	for range 3 {
		before := kernels()
		l := &log{}
		w := start(t, Options{PID: pid}, l)
		l.await(t, time.Second)
		if err := w.Stop(); err != nil {
			t.Fatal(err)
		}
		got, want := w.Totals().RunDelay, kernels()-before
		for _, thread := range w.timeline.threads {
			got -= thread.waited() // the kernel counts a wait when it is over
		}
		t.Logf("run delay: ours %v, the kernel's %v; denied %v", got, want, w.Totals().Denied)
		// One that is taken for waiting waits for half a second, on average.
		if got > want+want/20+200*time.Millisecond {
			t.Errorf("run delay: got %v, the kernel says %v", got, want)
		}
	}
}
