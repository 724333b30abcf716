package hostwatch

import (
	"runtime"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// batch takes in what the machine did since the last one, and gives it away.
func (w *Watch) batch() error {
	now, err := w.process.count()
	if err != nil {
		return err
	}
	w.batches++
	b := Batch{Totals: w.Totals()}
	if w.scheduler != nil {
		err = w.exact(&b, now)
	} else {
		err = w.counted(&b, now)
	}
	if err != nil {
		return err
	}
	t := &b.Totals
	t.MajorFaults = now.majorFaults - min(now.majorFaults, w.first.majorFaults)
	t.Throttled = max(0, now.throttled-w.first.throttled)
	t.Stolen = time.Duration(now.steal-min(now.steal, w.first.steal)) * tick
	if w.batches%slowEvery == 0 {
		t.Pressure = max(0, pressure(w.process.root)-w.pressed)
	}
	w.last = now
	w.mu.Lock()
	w.totals, w.upTo = *t, w.mark
	w.mu.Unlock()
	w.o.OnBatch(&b)
	return nil
}

// exact judges by the events of the scheduler.
func (w *Watch) exact(b *Batch, now counters) (err error) {
	upTo := w.o.Clock.Now().Add(-holdBack)
	before := w.dropped
	if w.events, w.dropped, err = w.scheduler.drain(w.events); err != nil {
		return err
	}
	t := &b.Totals
	t.Dropped = w.dropped
	if w.dropped > before || upTo <= w.mark {
		// Nobody knows what the threads do now, nor what they did.
		b.Span.Start = w.mark
		err = w.begin()
		b.Span.End = w.mark
		return err
	}
	t.Events += uint64(w.takeUntil(upTo))
	whole := w.timeline.end(upTo)
	if !whole {
		w.resolveUnknown(upTo)
	}
	b.Span = stall.Span{Start: w.mark, End: upTo}
	w.remember(now)
	w.verdict.judge(w.timeline, b.Span, !whole || now.steal > w.last.steal, now.majorFaults > w.last.majorFaults)
	w.throttle.add(now.throttled - w.last.throttled)
	b.Denied, b.Covered = w.intervals(), w.verdict.covered
	t.RunDelay += w.timeline.delay
	t.Denied += sum(w.verdict.denied)
	t.Mixed += sum(w.verdict.mixed)
	t.Covered += sum(b.Covered)
	t.Threads = len(w.timeline.threads)
	w.timeline.begin()
	w.mark = upTo
	return nil
}

// intervals returns what was denied, with its causes.
func (w *Watch) intervals() []stall.Interval {
	w.denied = w.denied[:0]
	for _, s := range longest(w.verdict.denied) {
		w.denied = append(w.denied, stall.Interval{
			Start: s.Start, End: s.End, Cause: stall.HostPreempted, Source: stall.TargetWatch,
			Scope: stall.ScopeTarget, CPU: -1, Owner: w.process.owner(),
		})
	}
	w.throttle.claim(w.denied)
	return w.denied
}

// remember keeps what a pause may be asked about later.
func (w *Watch) remember(now counters) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history.add(w.timeline.waits, true, sample{w.o.Clock.Now(), now.majorFaults, now.throttled})
}

// counted has totals only, and nothing is covered. Of throttling it knows how
// long, not when, and the sum over CPUs: what is certain is a CPU's share.
func (w *Watch) counted(b *Batch, now counters) error {
	at := w.o.Clock.Now()
	b.Span = stall.Span{Start: w.mark, End: at}
	w.mark = at
	if w.batches%slowEvery == 0 {
		delay, threads, err := w.process.runDelay(w.o.MaxThreads)
		if err != nil {
			return err
		}
		// A thread that has ended takes its delay with it.
		b.Totals.RunDelay = max(b.Totals.RunDelay, delay-w.delay)
		b.Totals.Threads = threads
	}
	w.mu.Lock()
	w.history.add(nil, false, sample{at, now.majorFaults, now.throttled})
	w.mu.Unlock()
	d := min((now.throttled-w.last.throttled)/time.Duration(runtime.NumCPU()), b.Span.Duration())
	if d < throttleFrom {
		return nil
	}
	b.Denied = append(w.denied[:0], stall.Interval{
		Start: b.Span.End.Add(-d), End: b.Span.End, Slack: b.Span.Duration(),
		Cause: stall.HostThrottled, Source: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: w.process.owner(),
	})
	w.denied = b.Denied
	b.Totals.Denied += d
	return nil
}
