package gotracetest

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"sync"
	"testing"
	"time"
)

// MarkPrefix is what the recorded programs put before their user logs.
const MarkPrefix = "otelgc/"

// Record traces a program that does a bit of everything: forced collections,
// stops that are not for GC, an allocator fast enough to be made to assist,
// goroutines that park, coroutines, and user logs.
func Record(t testing.TB, atLeast time.Duration) []byte {
	t.Helper()
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Skipf("skipped: tracing cannot start: %v", err)
	}
	for range 3 {
		runtime.GC() // alone: no allocation can start a cycle first
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		wg.Go(func() { allocate(stop) })
	}
	for i := range 8 {
		wg.Go(func() { request(i) })
	}
	wg.Go(func() { pull(stop) })
	wg.Go(func() { // parked across generations
		trace.Log(context.Background(), MarkPrefix+"long", "")
		<-stop
	})
	until := time.Now().Add(atLeast)
	for i := 0; i < 3 || time.Now().Before(until); i++ {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		time.Sleep(2 * time.Millisecond)
	}
	close(stop)
	wg.Wait()
	trace.Stop()
	return out.Bytes()
}

type node struct {
	left, right *node
	_           [64]byte
}

func tree(depth int) *node {
	if depth == 0 {
		return new(node)
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

func allocate(stop <-chan struct{}) {
	keep := make([]*node, 8)
	for i := 0; ; i++ {
		select {
		case <-stop:
			return
		default:
			keep[i%len(keep)] = tree(10)
		}
	}
}

func request(i int) {
	key := MarkPrefix + string(rune('a'+i))
	for range 10 {
		trace.Log(context.Background(), key, "")
		_ = tree(6)
		time.Sleep(time.Millisecond)
		trace.Log(context.Background(), "other", "message")
	}
}

// pull lets coroutines do its work, one within the other.
func pull(stop chan struct{}) {
	trace.Log(context.Background(), MarkPrefix+"pull", "")
	inner, done := iter.Pull(func(yield func(*node) bool) {
		for yield(&node{left: new(node), right: new(node)}) {
			time.Sleep(100 * time.Microsecond)
		}
	})
	defer done()
	next, done := iter.Pull(func(yield func(*node) bool) {
		for ok := true; ok; {
			n, _ := inner()
			runtime.Gosched()
			ok = yield(n)
		}
	})
	defer done()
	for {
		select {
		case <-stop:
			return
		default:
			next()
		}
	}
}
