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
	w.online = w.process.Online()
	return nil
}

// begin takes stock of the threads, anew after events were lost. An event is
// newer than what /proc says of its thread only if it came after the first of
// them was looked at: what was held of the time before is nobody's business, and
// may lack what followed.
func (w *Watch) begin() (err error) {
	if w.scheduler == nil {
		w.mark = w.o.Clock.Now()
		return nil
	}
	// What is lost from now on the next batch hears of, and begins again.
	if w.dropped, err = w.scheduler.lost(); err != nil {
		return err
	}
	from := w.o.Clock.Now()
	states, err := w.states()
	if err != nil {
		return err
	}
	mark := w.o.Clock.Now()
	time.Sleep(2 * holdBack)
	if w.events, err = w.scheduler.drain(w.events); err != nil {
		return err
	}
	w.events = slices.DeleteFunc(w.events, func(e event) bool { return e.at < from })
	w.timeline.forget()
	for tid, s := range states {
		w.timeline.put(tid, s, from)
	}
	w.takeUntil(mark)
	w.timeline.settle(mark)
	w.mark = mark
	return nil
}

// states returns what /proc says that each thread does.
func (w *Watch) states() (map[int32]state, error) {
	states := map[int32]state{}
	threads, err := w.process.Threads(w.o.MaxThreads, func(tid string) {
		id, err := strconv.ParseInt(tid, 10, 32)
		if err != nil {
			return
		}
		letter, err := w.process.State(tid)
		switch {
		case err != nil: // it has ended since
		case letter == "R":
			states[int32(id)] = unknown
		case letter == "T" || letter == "t":
			states[int32(id)] = stopped
		default:
			states[int32(id)] = blocked
		}
	})
	w.totals.Threads = threads
	return states, err
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
