package hostwatch

import (
	"os"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
)

// TestRunDelayEqualsTheKernels lets two threads share a CPU. The sum of what
// they waited must be what the kernel counts.
func TestRunDelayEqualsTheKernels(t *testing.T) {
	pid := child(t, "spin2", lastCPU(t))
	p, err := hostcount.Open(os.DirFS("/"), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	// The kernel counts a wait when it is over, the watch while it goes on. What the
	// kernel says lies between the waits that were over before it was asked, and those
	// with all that can have gone on until then.
	type reading struct{ least, most, kernels time.Duration }
	var first, last reading
	readings, done, enough := 0, false, make(chan struct{})
	var w *followed
	ready := make(chan struct{})
	l := &log{each: func(b *Observations) {
		<-ready
		now, err := p.Read(w.o.Clock.Now, 100)
		if err != nil {
			t.Error(err)
		}
		since := now.End.Sub(b.Span.End)
		if since > 5*holdBack {
			return // it was held up between the two, and the kernel counted on
		}
		r := reading{b.Totals.RunDelay, b.Totals.RunDelay, now.RunDelay.Or(0)}
		for _, thread := range w.timeline.threads {
			if thread.state == unknown {
				return // it may have waited since before the watch began
			}
			r.least -= thread.waited()
			r.most += since
		}
		if readings++; readings == 1 {
			first = r
		}
		// By what the kernel counts, not by the clock: who is frozen does not wait.
		last = r
		if !done && readings >= 6 && r.kernels-first.kernels >= time.Second {
			done = true
			close(enough)
		}
	}}
	w = start(t, Options{PID: pid}, l)
	close(ready)
	select {
	case <-enough:
	case <-time.After(3 * time.Minute):
	}
	if err := w.Stop(); err != nil {
		t.Fatal(err)
	}
	if readings < 6 {
		t.Skipf("%d readings: the machine is so busy that threads do not run for seconds", readings)
	}
	kernels := last.kernels - first.kernels
	least, most := last.least-first.most, last.most-first.least
	t.Logf("%d readings: ours %v to %v, the kernel's %v", readings, least, most, kernels)
	if kernels < time.Second {
		t.Fatalf("the threads waited %v only", kernels)
	}
	if off := kernels / 20; kernels < least-off || kernels > most+off {
		t.Errorf("run delay: got %v to %v, want %v within 5 %%", least, most, kernels)
	}
}

// counted is for how long the threads of a process ran and waited for a CPU so far,
// as the kernel counts, and the one that waited most.
type counted struct{ ran, waited, longest time.Duration }

func schedstat(t *testing.T, pid int) (c counted) {
	t.Helper()
	p, err := hostcount.Open(os.DirFS("/"), pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	_, err = p.Threads(1000, func(tid string) {
		if r, w, err := p.Schedstat(tid); err == nil {
			c = counted{c.ran + r, c.waited + w, max(c.longest, w)}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
