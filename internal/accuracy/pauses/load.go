package main

import (
	"runtime"
	"sync"
	"time"
)

// load is a way to make garbage.
type load struct {
	name    string
	procs   int // Ps; zero leaves them as they are
	workers func() int
	rest    time.Duration // of a worker, after each burst
}

var loads = []load{
	{"light: one goroutine, mostly asleep", 0, func() int { return 1 }, time.Millisecond},
	{"full: one goroutine per P, never asleep", 0, func() int { return runtime.GOMAXPROCS(0) }, 0},
	{"full, on one P", 1, func() int { return 1 }, 0},
}

type node struct {
	next *node
	_    [56]byte
}

// burst is how many nodes a worker makes at a time: 256 kB.
const burst = 4096

// start makes garbage, and keeps live MB of it, until stop is called.
func (l load) start(live int) (stop func()) {
	procs := runtime.GOMAXPROCS(l.procs) // zero changes nothing
	quit := make(chan struct{})
	var wg sync.WaitGroup
	kept := make([]*node, live<<20/(burst*64))
	for i := range kept {
		kept[i] = chain()
	}
	for range l.workers() {
		wg.Go(func() { l.work(quit) })
	}
	return func() {
		close(quit)
		wg.Wait()
		runtime.GOMAXPROCS(procs)
		runtime.KeepAlive(kept)
	}
}

func (l load) work(quit <-chan struct{}) {
	var last *node
	for {
		select {
		case <-quit:
			runtime.KeepAlive(last)
			return
		default:
		}
		last = chain()
		if l.rest > 0 {
			time.Sleep(l.rest)
		}
	}
}

func chain() *node {
	var head *node
	for range burst {
		head = &node{next: head}
	}
	return head
}
