package main

import (
	"crypto/sha512"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// slowToStop calls f while another goroutine hashes memory for d, in one piece of
// assembly, which nothing can interrupt: so a stop of the world takes as long.
func (b *bench) slowToStop(d time.Duration, f func()) stall.Span {
	n := min(int(b.hashed*float64(d)), len(b.memory))
	done := make(chan struct{})
	go func() {
		sha512.Sum512(b.memory[:n])
		close(done)
	}()
	runtime.Gosched() // it is next on this P
	s := b.spans(f)
	<-done
	return s
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

// collectTight has a collection begin with the next allocation, with so little
// room to its goal that whoever allocates must mark, and waits for its end.
func (b *bench) collectTight() stall.Span {
	before := collections()
	s := b.spans(func() {
		debug.SetGCPercent(5)
		for collections() == before {
			time.Sleep(time.Millisecond)
		}
	})
	debug.SetGCPercent(-1)
	return s
}

func collections() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
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
