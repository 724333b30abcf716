package main

import (
	"runtime"
	"testing"
	"time"
)

// TestThreadTime: a thread that computes is told for how long, and no longer than
// that by the clock; one that sleeps is not.
func TestThreadTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin, before := time.Now(), threadTime()
	for threadTime() < before+5*time.Millisecond {
	}
	slept := threadTime()
	time.Sleep(20 * time.Millisecond)
	if got := threadTime() - slept; got >= 20*time.Millisecond {
		t.Errorf("%v while it slept for 20ms", got)
	}
	if got, took := threadTime()-before, time.Since(begin); got > took {
		t.Errorf("%v on a CPU in %v", got, took)
	}
}
