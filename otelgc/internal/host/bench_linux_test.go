package host

import (
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/hostcount"
)

// BenchmarkSide measures what a reading of the counters costs, and what the
// run delay of so many threads does.
func BenchmarkSide(b *testing.B) {
	clock := testClock(b)
	newSide := func(b *testing.B) *Side {
		h := NewSide(NewBoard(nil, board.Here(), clock), clock)
		b.Cleanup(h.Close)
		if h.process == nil {
			b.Skip("skipped: this process cannot be read")
		}
		return h
	}
	b.Run("counters", func(b *testing.B) {
		h := newSide(b)
		for b.Loop() {
			if _, err := h.process.Read(h.now, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, more := range []int{0, 100} {
		b.Run(fmt.Sprintf("run delay of %d more threads", more), func(b *testing.B) {
			var started sync.WaitGroup
			done := make(chan struct{})
			defer close(done)
			for range more {
				started.Add(1)
				go func() {
					runtime.LockOSThread() // which goes with it
					started.Done()
					<-done
				}()
			}
			started.Wait()
			h, r := newSide(b), hostcount.Reading{}
			for b.Loop() {
				h.readDelays(&r)
			}
			b.ReportMetric(float64(h.pace.Worked)/float64(b.N), "work-ns/op")
			b.ReportMetric(float64(r.Threads), "threads")
		})
	}
}
