package hostwatch

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// follow attaches to the scheduler if it may.
func (w *Watch) follow() {
	if w.o.CountersOnly {
		w.why = errors.New("not wanted")
		return
	}
	w.scheduler, w.why = followScheduler(w.o.PID)
}

// count reads what was counted so far, once the scheduler is followed: to attach
// to it can take seconds on a busy machine, and that the process was throttled
// then is no reason of an interval that came later.
func (w *Watch) count() error {
	first, err := w.process.Read(w.o.Clock.Now, w.o.MaxThreads)
	if err != nil {
		return err
	}
	w.first, w.last, w.pressed = first.Counts, first.Counts, w.process.Pressure()
	w.grouped, _ = w.process.GroupPressure() // zero where it is not known, then and later
	w.delay, w.totals.Threads, w.slow = first.RunDelay.Or(0), first.Threads, first.End
	w.history.Add(first)
	return nil
}

// begin takes stock of the threads, anew after events were lost. What events
// said of the time before is nobody's business.
func (w *Watch) begin() (err error) {
	if w.scheduler == nil {
		w.mark = w.o.Clock.Now()
		return nil
	}
	states := map[int32]string{}
	threads, err := w.process.Threads(w.o.MaxThreads, func(tid string) {
		if id, err := strconv.ParseInt(tid, 10, 32); err == nil {
			if state, err := w.process.State(tid); err == nil { // else it has ended since
				states[int32(id)] = state
			}
		}
	})
	if err != nil {
		return err
	}
	w.totals.Threads = threads
	mark := w.o.Clock.Now()
	time.Sleep(2 * holdBack)
	if w.events, w.dropped, err = w.scheduler.drain(w.events); err != nil {
		return err
	}
	w.timeline.forget()
	w.takeUntil(mark)
	for tid, s := range states {
		// An event is newer than what /proc said of its thread.
		if s == "R" {
			w.timeline.put(tid, unknown, mark)
		} else {
			w.timeline.put(tid, blocked, mark)
		}
	}
	w.timeline.settle(mark)
	w.mark = mark
	return nil
}

// takeUntil takes in the events before t, in order, and returns their number.
func (w *Watch) takeUntil(t stall.Instant) int {
	slices.SortStableFunc(w.events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	n := 0
	for ; n < len(w.events) && w.events[n].at < t; n++ {
		w.timeline.take(w.events[n])
	}
	w.events = w.events[:copy(w.events, w.events[n:])]
	return n
}
