package hostwatch

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// look takes in what the machine did since the last look.
func (w *Watch) look() error {
	slow, limit := w.due()
	now, err := w.process.Read(w.o.Clock.Now, limit)
	if err != nil {
		return err
	}
	b := Observations{Totals: w.Totals()}
	if w.scheduler != nil {
		err = w.exact(&b, now)
	} else {
		w.counted(&b, now)
	}
	if err != nil {
		return err
	}
	t := &b.Totals
	t.MajorFaults = now.MajorFaults - min(now.MajorFaults, w.first.MajorFaults)
	t.Throttled = hostcount.Since(now.Throttled, w.first.Throttled)
	t.Stolen = max(0, now.Stolen-w.first.Stolen)
	if slow {
		t.MachinePressure = hostcount.MachinePressure(w.process.Pressure().Since(w.pressed))
		if p, known := w.process.GroupPressure(); known {
			t.GroupPressure = gc.Known(p.Since(w.grouped))
		}
	}
	w.last = now.Counts
	w.mu.Lock()
	w.totals = *t
	w.mu.Unlock()
	w.seen, w.fresh = b, true
	return nil
}

// late reports whether a batch is so long that the watch itself was held up: a
// freezer may have come and gone in it, which leaves no event of a thread that sleeps.
func (w *Watch) late(batch stall.Span) bool {
	return batch.Duration() > 2*restEvery && w.process.Freezable()
}

// due reports whether what is dear is read in this batch, and of how many
// threads the run delay is: of a scheduler that is followed it is known.
func (w *Watch) due() (slow bool, limit int) {
	now := w.o.Clock.Now()
	if slow = now.Sub(w.slow) >= slowEvery; slow {
		w.slow = now
	}
	if w.scheduler == nil && (slow || w.asked) {
		limit = maxThreads
	}
	return slow, limit
}

// exact judges by the events of the scheduler, up to when the counters were read:
// a fault, or time that was stolen, must not be of later.
func (w *Watch) exact(b *Observations, now hostcount.Reading) (err error) {
	upTo := now.Start.Add(-holdBack)
	before := w.dropped
	if w.events, err = w.scheduler.drain(w.events); err != nil {
		return err
	}
	if w.dropped, err = w.scheduler.lost(); err != nil {
		return err
	}
	t := &b.Totals
	t.Dropped = w.dropped
	if w.dropped > before || upTo <= w.mark {
		// What the threads do now is not known, nor what they did.
		w.taken = manyEvents + 1
		b.Span.Start = w.mark
		err = w.begin()
		b.Span.End = w.mark
		return err
	}
	w.taken = w.takeUntil(upTo)
	t.Events += uint64(w.taken)
	whole := w.timeline.end(upTo)
	if !whole {
		w.resolveUnknown(upTo)
	}
	b.Span = stall.Span{Start: w.mark, End: upTo}
	w.waits = append(w.waits[:0], w.timeline.waits...) // before they are joined
	touched := now.Stolen > w.last.Stolen || now.Frozen || w.last.Frozen || w.late(b.Span)
	w.timeline.hide(stall.Span{Start: w.mark, End: w.hidden})
	if touched {
		w.hidden = now.End
	}
	w.verdict.judge(w.timeline, b.Span, !whole || touched, now.MajorFaults > w.last.MajorFaults)
	w.remember(b.Span, whole, now)
	b.Denied, b.Covered = w.intervals(now.Counts, b.Span), w.verdict.covered
	t.RunDelay += w.timeline.delay
	t.Denied += sum(w.verdict.denied)
	t.Paged += sum(w.verdict.paged)
	t.Mixed += sum(w.verdict.mixed)
	t.Covered += sum(b.Covered)
	t.Threads = len(w.timeline.threads)
	w.timeline.begin()
	w.mark = upTo
	return nil
}

// intervals returns what the machine took in a batch, with its causes.
func (w *Watch) intervals(now hostcount.Counts, batch stall.Span) []stall.Interval {
	w.denied = w.appendIntervals(w.denied[:0], w.verdict.denied, stall.HostPreempted)
	if d, known := hostcount.Since(now.Throttled, w.last.Throttled).Get(); known {
		w.throttle.add(d, now.Throttlings-min(now.Throttlings, w.last.Throttlings), batch.Duration())
		w.throttle.claim(w.denied, batch.End)
	} else {
		mayBeThrottled(w.denied)
	}
	if len(w.verdict.paged) > 0 {
		w.denied = w.appendIntervals(w.denied, w.verdict.paged, stall.HostFault)
		slices.SortFunc(w.denied, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	}
	return w.denied
}

func (w *Watch) appendIntervals(to []stall.Interval, spans []stall.Span, c stall.Cause) []stall.Interval {
	for _, s := range longest(spans) {
		to = append(to, stall.Interval{
			Start: s.Start, End: s.End, Cause: c, Origin: stall.TargetWatch,
			Scope: stall.ScopeTarget, CPU: -1, Owner: w.Owner(),
		})
	}
	return to
}

// remember keeps what a pause may be asked about later.
func (w *Watch) remember(s stall.Span, whole bool, r hostcount.Reading) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := &w.history
	h.Add(r)
	h.waits.add(w.waits)
	h.denied.add(w.verdict.denied)
	h.paged.add(w.verdict.paged)
	if whole {
		h.know(s)
	}
}

// counted has totals only, and nothing is covered. Of throttling it knows how
// long, not when, and the sum over CPUs: what is certain is the share of one of
// all that the machine has.
func (w *Watch) counted(b *Observations, now hostcount.Reading) {
	b.Span = stall.Span{Start: w.mark, End: now.End}
	w.mark = now.End
	if delay, known := now.RunDelay.Get(); known {
		// A thread that has ended takes its delay with it.
		b.Totals.RunDelay = max(b.Totals.RunDelay, delay-w.delay)
		b.Totals.Threads = now.Threads
	}
	w.mu.Lock()
	w.history.Add(now)
	w.mu.Unlock()
	throttled := hostcount.Since(now.Throttled, w.last.Throttled).Or(0)
	d := min(throttled/time.Duration(max(1, w.online)), b.Span.Duration())
	if d < throttleFrom || w.online == 0 {
		return
	}
	b.Denied = append(w.denied[:0], stall.Interval{
		Start: b.Span.End.Add(-d), End: b.Span.End, Slack: b.Span.Duration(),
		Cause: stall.HostThrottled, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: w.Owner(),
	})
	w.denied = b.Denied // and none of it denied for certain: when it was is not known
}

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
	first, err := w.process.Read(w.o.Clock.Now, maxThreads)
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

// begin reads the states of the threads from /proc, again after events were lost. An
// event counts only if it came after the first thread was read: an older one may be
// older than what /proc says, and the events after it may be lost.
func (w *Watch) begin() (err error) {
	if w.scheduler == nil {
		w.mark = w.o.Clock.Now()
		return nil
	}
	// The next batch counts what is lost from now on, and reads the states again.
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
	threads, err := w.process.Threads(maxThreads, func(tid string) {
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

// resolveUnknown asks for the CPU time of each thread that was ready or running
// when the watch began, and that no event has named since: as it has not been
// switched in or out, it either waits all the time or runs all the time. If its
// time has grown, it runs.
func (w *Watch) resolveUnknown(upTo stall.Instant) {
	if w.ran == nil {
		w.ran = map[int32]time.Duration{}
	}
	coming := map[int32]bool{} // of which an event tells soon
	for i := range w.events {
		coming[w.events[i].tid] = true
	}
	for tid, t := range w.timeline.threads {
		if t.state != unknown {
			delete(w.ran, tid)
			continue
		}
		now, _, err := w.process.Schedstat(strconv.Itoa(int(tid)))
		if err != nil {
			delete(w.timeline.threads, tid) // it has ended
			continue
		}
		before, asked := w.ran[tid]
		w.ran[tid] = now
		if asked && now > before && !coming[tid] {
			w.timeline.threads[tid] = thread{state: running, since: upTo}
		}
	}
}
