package oracle

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// tolerance is what the oracle's times may be off by. It never moves an event
// to an earlier time, but each one that is not later than the event before it,
// in the order that it found possible, to a nanosecond after that.
const tolerance = int64(200 * time.Microsecond)

// offsets turns the oracle's times into gotrace's instants.
type offsets struct {
	generations []generation
	moved       []stall.Span // see findMoved
	end         int64        // of the last generation, an instant
}

// findMoved finds the begins of generations that the oracle moved. The last
// events of a generation are the tracer's own, and the threads are in the next
// one by then; the oracle, which has one generation after the other, puts what
// happened there meanwhile behind them, a nanosecond apart.
func (o *offsets) findMoved(spans []stall.Span) {
	for i := 1; i < min(len(spans), len(o.generations)); i++ {
		begin := o.generations[i].start + o.generations[i].offset
		o.moved = append(o.moved, stall.Span{Start: spans[i].Start.Add(-time.Duration(tolerance)), End: stall.Instant(begin + tolerance)})
	}
}

// isMoved reports whether the oracle may have moved what was at t.
func (o offsets) isMoved(t int64) bool {
	return slices.ContainsFunc(o.moved, func(s stall.Span) bool { return int64(s.Start) <= t && t < int64(s.End) })
}

// near reports whether the instant got is the oracle's time want. Which
// generation's offset holds is not known at a boundary, so any may do.
func (o offsets) near(want, got int64) bool {
	for _, g := range o.generations {
		if later(want+g.offset, got) || o.isMoved(want+g.offset) && o.isMoved(got) {
			return true
		}
	}
	return false
}

// later reports whether want is got, or later than it by no more than the
// oracle may have moved it. An offset is rounded to 64 ns.
func later(want, got int64) bool { return want >= got-64 && want-got <= tolerance }

// same compares one range. One that was on when the trace began, began for the
// oracle with the event that says so; for gotrace, with the generation. One
// that is cut at the trace's end, ends for the oracle with the tracer's own
// last event.
func (o offsets) same(want, got span) bool {
	return (want.active || o.near(want.start, got.start)) && (want.cut || o.near(want.end, got.end))
}

// emptyAtEnd reports whether a range began with the last event of the trace: it has no
// length for gotrace, which leaves it out. For the oracle the tracer's own event comes after it.
func (o offsets) emptyAtEnd(want span) bool {
	return want.cut && o.instant(want.start) >= o.end-64
}

// sameRestart compares when others ran again in a stop. The oracle may have
// moved the two ends of it onto each other, and that what came between them is
// in the stop at all.
func (o offsets) sameRestart(want, got span) bool {
	if want.restart == 0 || got.restart == 0 {
		return want.restart == got.restart || o.near(want.end, max(want.restart, got.restart))
	}
	return o.near(want.restart, got.restart)
}

// instant is good to the drift between the generations' offsets, some ticks.
func (o offsets) instant(want int64) int64 {
	return want + o.generations[0].offset
}
