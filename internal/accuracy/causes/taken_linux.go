package main

import (
	"errors"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/uprobe"
	"github.com/otelgc/otelgc/stall"
)

// What the probe's thread calls when it leaves the runtime, or comes back, while
// somebody else is at its goroutine or has taken its P: sysmon, which does so all
// the time to a goroutine that has made nothing but system calls for 10 ms
// (runtime/proc.go, retake, Go 1.26).
const (
	somebodyElse = "runtime.casgstatus"
	noLongerHasP = "runtime.exitsyscallTryGetP"
)

// takenEvery is the time between two looks at what was called.
const takenEvery = 20 * time.Millisecond

// taken returns when the runtime kept the thread on cpu from passing.
func taken(cpu int, _ stall.Clock, quit <-chan struct{}) (truth []stall.Span, err error) {
	tid, err := pinnedTo(cpu)
	if err != nil {
		return nil, missingRights{err}
	}
	w, err := uprobe.Thread(tid, somebodyElse, noLongerHasP)
	if err != nil {
		return nil, missingRights{err}
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	take := func(c uprobe.Hit) { truth = append(truth, stall.Span{Start: c.At, End: c.At + 1}) }
	for {
		select {
		case <-quit:
			err := w.Read(take)
			return truth, err
		case <-time.After(takenEvery):
		}
		if err := w.Read(take); err != nil {
			return nil, err
		}
	}
}
