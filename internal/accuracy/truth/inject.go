package main

import (
	"crypto/sha512"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// slowToStop calls f, which stops the world, while another goroutine hashes
// memory for d, in one piece of assembly, which nothing can interrupt: so the
// stop takes as long as the hash. It returns when the world was stopping for
// sure, which is empty if the hash was over before.
//
// It calls f once more in advance: before it stops the world, runtime.GC sweeps
// what the last collection left, and that is to be done by then.
func (b *bench) slowToStop(d time.Duration, f func()) stall.Span {
	f()
	n := min(int(b.hashed*float64(d)), len(b.memory))
	over := make(chan stall.Instant, 1)
	go func() {
		sha512.Sum512(b.memory[:n])
		over <- b.now()
	}()
	runtime.Gosched() // it is next on this P
	from := b.now()
	f()
	return stall.Span{Start: from, End: <-over}
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
// meanwhile must mark.
func (b *bench) collectTight() stall.Span {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
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
