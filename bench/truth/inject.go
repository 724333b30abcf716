package truth

import (
	"crypto/sha512"
	"math"
	"net"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/stall"
)

// slowToStop calls f, which stops the world, while another goroutine hashes
// memory for d. The hash is one piece of assembly, which nothing can interrupt, so
// the stop takes as long as the hash. slowToStop returns when the world was
// certainly stopping. The span is empty if the hash ended before f began, or if the
// runtime counts no stop of that length: then the hash began after the stop.
//
// The span ends where the hash would end at its best rate. The true end is unknown:
// the hashing goroutine is stopped before it can read the clock, and waits for a P
// when the world goes on.
//
// slowToStop calls f once in advance: runtime.GC sweeps what the last collection
// left before it stops the world, and that must be done by then.
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
	before := harness.Stopping()
	from := b.now()
	f()
	<-over
	sure := stall.Span{Start: from, End: max(from, end)}
	if longestStop(before, harness.Stopping()) < sure.Duration() {
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

// collectTight collects with so little room to the goal that goroutines which
// allocate meanwhile must mark. It frees what is garbage in advance: otherwise there
// would be no room at all, and one request would have to mark the whole heap.
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

// longestStop returns how long the longest of the collector's stops of the world
// since before took to stop it at most, by the runtime's own account; zero if there
// was none.
func longestStop(before, now metrics.Float64Histogram) time.Duration {
	for i, n := range slices.Backward(now.Counts) {
		if n == before.Counts[i] {
			continue
		}
		if most := now.Buckets[i+1]; most < math.MaxInt64/float64(time.Second) {
			return time.Duration(most * float64(time.Second))
		}
		return math.MaxInt64
	}
	return 0
}

// The waits return when the request began to wait, and when another goroutine or a
// timer made it ready.

func (b *bench) sleep(d time.Duration) stall.Span {
	from := b.now()
	time.Sleep(d)
	return stall.Span{Start: from, End: from.Add(d)}
}

func (b *bench) receive(d time.Duration) stall.Span {
	sent := make(chan stall.Instant)
	go func() {
		time.Sleep(d)
		sent <- b.now()
	}()
	from := b.now()
	return stall.Span{Start: from, End: <-sent}
}

func (b *bench) ask(d time.Duration) stall.Span {
	one := []byte{1}
	here, there, err := b.pair()
	if err != nil {
		return stall.Span{}
	}
	defer func() { _ = here.Close() }()
	sent := make(chan stall.Instant, 1)
	go func() {
		time.Sleep(d)
		sent <- b.now()
		_, _ = there.Write([]byte{1})
		_ = there.Close()
	}()
	from := b.now()
	_, _ = here.Read(one)
	return stall.Span{Start: from, End: <-sent}
}

// pair returns the two ends of a connection.
func (b *bench) pair() (here, there net.Conn, err error) {
	b.pairing.Lock()
	defer b.pairing.Unlock()
	if here, err = net.Dial("tcp", b.listener.Addr().String()); err != nil {
		return nil, nil, err
	}
	there, err = b.listener.Accept()
	return here, there, err
}

func burn(d time.Duration) {
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

// compute does work that takes d where nothing else has the CPU.
func (b *bench) compute(d time.Duration) {
	runtime.KeepAlive(spin(int(b.turns * float64(d))))
}

// calibrate finds how much spin does, and how much is hashed, in a nanosecond.
// The best counts: others may have had the CPU.
func (b *bench) calibrate() {
	b.memory = make([]byte, 128<<20)
	for range 20 {
		const n = 100_000
		begin := time.Now()
		runtime.KeepAlive(spin(n))
		b.turns = max(b.turns, n/float64(time.Since(begin)))
		begin = time.Now()
		sha512.Sum512(b.memory[:n])
		b.hashed = max(b.hashed, n/float64(time.Since(begin)))
	}
}

//go:noinline
func spin(turns int) (x uint64) {
	for i := range uint64(turns) {
		x = x*6364136223846793005 + i
	}
	return x
}

type node struct {
	next *node
	_    [56]byte
}

// allocate makes so many bytes of small objects, and keeps the last of them for
// as long as it lasts.
func allocate(bytes int) {
	var head *node
	for i := range bytes / 64 {
		if head = (&node{next: head}); i%64 == 0 {
			head.next = nil
		}
	}
	runtime.KeepAlive(head)
}

// heap returns long-lived memory that takes long to mark and, in large pieces,
// not long to sweep.
func heap(mb int) [][]*node {
	target := new(node)
	live := make([][]*node, mb)
	for i := range live {
		live[i] = make([]*node, 1<<20/8)
		for k := range live[i] {
			live[i][k] = target
		}
	}
	return live
}
