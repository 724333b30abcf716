// Command record writes a small execution trace of itself to standard output:
// forced and other collections, stops that are not for GC, assists, sweeps,
// parked goroutines and user logs. It builds with every Go from 1.22 on, and
// made the captures beside it: GOTOOLCHAIN=go1.22.12 go run main.go > ../go1.22.12.trace
package main

import (
	"context"
	"log"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"sync"
	"time"
)

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

var sink *node

func allocate(n int) {
	var keep [4]*node
	for i := 0; i < n; i++ {
		keep[i%len(keep)] = tree(11)
	}
	sink = keep[0]
}

func request(name string) {
	for i := 0; i < 5; i++ {
		trace.Log(context.Background(), "otelgc/"+name, "")
		_ = tree(6)
		time.Sleep(time.Millisecond)
		trace.Log(context.Background(), "other", "message")
	}
}

func readStats() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
}

func main() {
	debug.SetGCPercent(40)
	if err := trace.Start(os.Stdout); err != nil {
		log.Fatal(err)
	}
	runtime.GC()
	readStats()
	var wg sync.WaitGroup
	for _, name := range []string{"a", "b", "c", "d"} {
		wg.Add(2)
		go func() { defer wg.Done(); request(name) }()
		go func() { defer wg.Done(); allocate(12) }()
	}
	wg.Wait()
	runtime.GC()
	readStats()
	trace.Stop()
}
