package main

import (
	"crypto/sha512"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// slowToStop calls f, which stops the world, while another goroutine hashes
// memory for d, in one piece of assembly, which nothing can interrupt: so the
// stop takes as long as the hash. It returns when the world was stopping for
// sure, which is empty if the hash was over before, or if the runtime counts no
// stop that took as long: then the hash had not begun when the world was stopped.
//
// The hash cannot be over sooner than at its best rate. When it was in truth
// nobody can say: who was hashing is stopped before it can look at the clock, and
// when the world goes on it waits for its turn.
//
// It calls f once more in advance: before it stops the world, runtime.GC sweeps
// what the last collection left, and that is to be done by then.
func (b *bench) slowToStop(d time.Duration, f func()) stall.Span {
	f()
	n := min(int(b.hashed*float64(d)), len(b.memory))
	var began atomic.Int64
	over := make(chan struct{})
	go func() {
		began.Store(int64(b.now()))
		sha512.Sum512(b.memory[:n])
		close(over)
	}()
	// It is next on this P, and another P can take this goroutine, which may be there
	// before it: so it must yield until the hash has begun, but a yield is two events.
	for runtime.Gosched(); began.Load() == 0; runtime.Gosched() {
		burn(10 * time.Microsecond)
	}
	end := stall.Instant(began.Load()).Add(time.Duration(float64(n) / b.hashed))
	before := readStops()
	from := b.now()
	f()
	<-over
	sure := stall.Span{Start: from, End: max(from, end)}
	if readStops().longestSince(before) < sure.Duration() {
		return stall.Span{}
	}
	return sure
}

// storm has some goroutines call f over and over.
func (b *bench) storm(goroutines int, d time.Duration, f func()) stall.Span {
	until := time.Now().Add(d)
	return b.spans(func() {
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for time.Now().Before(until) {
					f()
				}
			})
		}
		wg.Wait()
	})
}

func readMemStats() { runtime.ReadMemStats(new(runtime.MemStats)) }

// crowd has some goroutines compute for twice d, each a part of that at a time.
func (b *bench) crowd(goroutines int, d time.Duration) stall.Span {
	turn := max(time.Millisecond, d/8)
	return b.storm(goroutines, 2*d, func() {
		burn(turn)
		runtime.Gosched()
	})
}

// collectTight collects with so little room to the goal that whoever allocates
// meanwhile must mark. What is garbage by then goes in advance: with it there
// would be no room at all, and one request would have to mark all that there is.
func (b *bench) collectTight() stall.Span {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(1))
	return b.spans(runtime.GC)
}

// forceAlways forces collections, one after the other.
func forceAlways(_ *bench, quit <-chan struct{}) {
	for {
		select {
		case <-quit:
			return
		default:
			runtime.GC()
			time.Sleep(2 * time.Millisecond) // at its end it yields in a loop: floods of events
		}
	}
}

// spans returns when f began and was over.
func (b *bench) spans(f func()) stall.Span {
	from := b.now()
	f()
	return stall.Span{Start: from, End: b.now()}
}
