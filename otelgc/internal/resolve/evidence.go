package resolve

import (
	"runtime"
	"slices"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/exact"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// evidence collects what the sources said about a batch of windows, and cuts it
// to one window at a time. Its memory is used again.
type evidence struct {
	o *Options

	stops      timeline.Stops // of the whole batch, as the rest
	host       timeline.Intervals
	hosts      []stall.Interval // memory of host
	targetSeen []stall.Span

	one stall.Evidence // of one window
}

// gather reads the logs once for all windows of a batch.
func (e *evidence) gather(all stall.Span) {
	e.o.Tracer.Store.SetProcessors(runtime.GOMAXPROCS(0))
	e.o.Timeline.Read(&e.stops, all)
	e.hosts = e.o.Board.Log.Intervals(e.hosts[:0], all)
	e.host.Set(e.hosts)
	e.targetSeen = e.o.Board.Watched.Seen(e.targetSeen[:0], all)
}

// of returns the evidence about a window, or a piece of one, which had a slot
// from when it was held to until. By has the goroutines that carried it up to the
// piece, and is brought up to date. It is valid until the next call.
func (e *evidence) of(w *stall.Window, slot int16, had stall.Span, by *exact.Carrier) *stall.Evidence {
	extent := w.Extent()
	e.one.Process = e.stops.In(extent)
	e.one.Host = e.host.Near(extent)
	e.one.Seen = e.stops.Seen(extent)
	e.one.TargetSeen = timeline.Near(e.targetSeen, extent)
	e.one.Track, e.one.Own = e.one.Track[:0], e.one.Own[:0]
	if slot != window.NoSlot {
		e.o.Tracer.Store.Follow(&e.one, w, slot, had, by)
	}
	if extent.Start < e.stops.ExactFloor {
		e.forget(e.stops.ExactFloor)
	}
	for i := range e.one.Own {
		if v := &e.one.Own[i]; v.Cause.IsGC() {
			v.Ref = e.stops.Collection(v.Start)
		}
	}
	return &e.one
}

// forget takes off what is known of the goroutine before t. Which stops there were is
// forgotten, and a wait may have been for one of them.
func (e *evidence) forget(t stall.Instant) {
	own, track := e.one.Own[:0], e.one.Track[:0]
	for _, v := range e.one.Own {
		if v.Start = max(v.Start, t); v.Start < v.End {
			own = append(own, v)
		}
	}
	for _, v := range e.one.Track {
		if v.Start = max(v.Start, t); v.Start < v.End {
			track = append(track, v)
		}
	}
	e.one.Own, e.one.Track = own, track
}

// settling is how long after a stop it is not known yet whether a goroutine slept
// through it, see [stall.Joiner], and more.
const settling = 100 * time.Microsecond

// quiet returns the last instant up to t at which nothing that stalls the whole
// process or the machine may be going on, or just over: a window that is cut
// there loses no certainty.
func (e *evidence) quiet(t stall.Instant) stall.Instant {
	for _, near := range []func(stall.Span) []stall.Interval{e.stops.All, e.host.Near, e.stops.All} {
		list := near(stall.Span{Start: t.Add(-settling), End: t + 1})
		for i := range slices.Backward(list) {
			v := &list[i]
			if from, to := v.Start.Add(-v.Slack), v.End.Add(v.Slack); from < t && t < to.Add(settling) {
				t = from
			}
		}
	}
	return t
}
