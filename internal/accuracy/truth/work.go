package main

import (
	"crypto/sha512"
	"runtime"
	"time"
)

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
