package otelgc

import (
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/stall"
)

// appendSched splits a wait for a P by whether a GC worker above idle priority
// held one: an upper bound of what the collector has to do with it.
func appendSched(to []stall.Interval, wait stall.Span, workers []stall.Span) []stall.Interval {
	at := wait.Start
	for _, w := range timeline.Near(workers, wait) {
		w = w.Clip(stall.Span{Start: at, End: wait.End})
		if w.Empty() {
			continue
		}
		if w.Start > at {
			to = append(to, own(at, w.Start, stall.Sched))
		}
		to = append(to, own(w.Start, w.End, stall.SchedGC))
		at = w.End
	}
	if at < wait.End {
		to = append(to, own(at, wait.End, stall.Sched))
	}
	return to
}

// appendUnpolled adds what a GC worker above idle priority took of the time in
// which a request had arrived and nobody had noticed: where there is one P, who
// holds it keeps everybody from polling the network. The goroutine is as good as
// runnable then, and the worker's part an upper bound as for one that is.
func appendUnpolled(to []stall.Interval, wait stall.Span, workers []stall.Span) []stall.Interval {
	if wait.Empty() {
		return to
	}
	for _, w := range timeline.Near(workers, wait) {
		if w = w.Clip(wait); !w.Empty() {
			to = append(to, own(w.Start, w.End, stall.SchedGC))
		}
	}
	return to
}

func own(start, end stall.Instant, c stall.Cause) stall.Interval {
	return stall.Interval{Start: start, End: end, Cause: c, Origin: stall.GoTrace, CPU: -1}
}

func causeOf(k gotrace.RangeKind) stall.Cause {
	if k == gotrace.Sweep {
		return stall.GCSweep
	}
	return stall.GCAssist
}
