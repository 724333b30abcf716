package gcwatch

import (
	"context"
	"io"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

func TestMain(m *testing.M) { noleak.Main(m) }

func newClock(t testing.TB) stall.Clock {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return clock
}

func cyclesTotal() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// settle makes sure that no cycle is in progress and none is due.
func settle(t testing.TB) {
	t.Helper()
	old := debug.SetGCPercent(-1)
	runtime.GC()
	t.Cleanup(func() { debug.SetGCPercent(old) })
}

// journal keeps what batches said.
type journal struct {
	mu          sync.Mutex
	cycles      uint64
	collections []gc.Collection
	suspensions []stall.Interval
	unseen      []stall.Span
	marks       []stall.Instant
	batches     int
	gcPauses    uint64
	last        Totals
}

func (j *journal) note(b *source.Batch, o *Observations) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.batches++
	j.cycles += o.Cycles
	for i := range b.Collections {
		j.collections = append(j.collections, b.Collections[i].Clone())
	}
	for _, v := range b.Intervals {
		if v.Cause == stall.RuntimeSuspension {
			j.suspensions = append(j.suspensions, v)
		}
	}
	j.unseen = append(j.unseen, b.Unseen...)
	j.marks = append(j.marks, b.Watermark)
	for _, b := range o.GCPauses {
		j.gcPauses += b.Count
	}
	j.last = o.Totals
}

// look notes what is known now. It is for who calls Next himself.
func (j *journal) look(t testing.TB, w *Watcher) {
	t.Helper()
	w.Flush()
	b, err := w.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	j.note(&b, w.Observations())
}

// follow notes all that w yields, with a rest after each batch. What it returns
// closes w, and waits until that is over.
func follow(t testing.TB, w *Watcher, rest time.Duration, note func(*source.Batch, *Observations)) (stop func()) {
	var done sync.WaitGroup
	done.Go(func() {
		for {
			b, err := w.Next(context.Background())
			if err != nil {
				if err != io.EOF {
					t.Errorf("next: %v", err)
				}
				return
			}
			note(&b, w.Observations())
			time.Sleep(rest)
		}
	})
	stop = sync.OnceFunc(func() {
		if err := w.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		done.Wait()
	})
	t.Cleanup(stop)
	return stop
}

func start(t testing.TB, o Options) *Watcher {
	t.Helper()
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

var garbage [64][]byte

// allocate makes the heap grow and die until cycles more cycles are over.
func allocate(cycles uint64) {
	for end := cyclesTotal() + cycles; cyclesTotal() < end; {
		for i := range 4096 {
			garbage[i%len(garbage)] = make([]byte, 4096)
		}
	}
}
