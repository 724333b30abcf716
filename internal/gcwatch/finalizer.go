package gcwatch

import (
	"runtime"
	"sync/atomic"
)

// bell is what the finalizer rings. It is apart from the sentinel, since
// whoever held the sentinel would keep it from being collected.
type bell struct {
	rung chan struct{} // capacity 1: rings that nobody heard yet are one
	off  atomic.Bool
}

// sentinel is an object that nothing refers to: each cycle finds it dead.
// A finalizer resurrects it and arms it again, which costs no allocation.
// A cleanup (runtime.AddCleanup) would need a new object each time, and runs
// only when the whole heap is swept, so it is late and misses cycles.
type sentinel struct{ bell *bell }

// startBell returns a bell that rings after GC cycles until it is off.
func startBell() *bell {
	b := &bell{rung: make(chan struct{}, 1)}
	runtime.SetFinalizer(&sentinel{b}, (*sentinel).found)
	return b
}

// found runs on the runtime's one finalizer goroutine, and must not block it.
func (s *sentinel) found() {
	if s.bell.off.Load() {
		return // not armed again: the next cycle frees it
	}
	select {
	case s.bell.rung <- struct{}{}:
	default:
	}
	runtime.SetFinalizer(s, (*sentinel).found)
}
