package hostwatch

import (
	"os"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
)

// BenchmarkBatch is a batch of a process that sleeps: what a watch costs at
// rest, times the batches of a second.
func BenchmarkBatch(b *testing.B) {
	clock, err := stall.NewClock()
	if err != nil {
		b.Fatal(err)
	}
	p, err := hostcount.Open(os.DirFS("/"), os.Getppid())
	if err != nil {
		b.Fatal(err)
	}
	w := &Watch{
		o:       Options{PID: os.Getppid(), Clock: clock},
		process: p, timeline: newTimeline(maxThreads, threshold),
	}
	if w.follow(); w.scheduler == nil {
		b.Skipf("the scheduler cannot be followed here: %v", w.why)
	}
	defer func() {
		if err := w.detach(); err != nil {
			b.Error(err)
		}
	}()
	if err := w.begin(); err != nil {
		b.Fatal(err)
	}
	time.Sleep(2 * holdBack)
	for b.Loop() {
		if err := w.look(); err != nil {
			b.Fatal(err)
		}
	}
}
