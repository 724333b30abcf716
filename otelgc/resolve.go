package otelgc

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

const (
	resolveEvery = 100 * time.Millisecond
	batchSize    = 4096
	breatheEvery = 16 // windows, which take some microseconds
)

// resolver gives windows their shares when the sources have passed them.
type resolver struct {
	m        *Monitor
	batch    []window.Ended
	evidence evidence
	joiner   stall.Joiner
	pace     pacer.Pacer
	longs    longs
	known    []*long // of the batch; nil where nothing is
	one      long    // of a window in one piece

	lengths lengths
	slowest atomic.Int64 // what nearly all windows take

	// windows, and those among them that were followed in the trace, of one
	// turn: what they took is a cost of tracing.
	windows, followed int

	// forgotten counts windows that began before what is remembered, and were not
	// settled piece by piece: that much of them is unseen.
	forgotten atomic.Uint64
	foreign   atomic.Uint64 // windows by another clock
}

// passed returns the instant that every source has passed or missed its
// deadline for.
func (r *resolver) passed(now stall.Instant) stall.Instant {
	m := r.m
	return max(min(m.timeline.Watermark(), m.machine.board.Passed(now)), now.Add(-timeline.Deadline))
}

// resolve gives their shares to the windows that are due.
func (r *resolver) resolve(now stall.Instant) {
	before := r.pace.Worked
	r.windows, r.followed = 0, 0
	r.pace.Begin()
	passed := r.passed(now)
	due := passed
	r.drain(&r.m.windows.pending, due)
	r.slowest.Store(int64(r.lengths.nearlyAll()))
	if r.m.windows.flushNow.Swap(false) {
		due = now.Add(timeline.Deadline)
	}
	r.drain(&r.m.windows.watched, due)
	r.longs.settle(r, now, passed)
	r.pace.End()
	if r.followed > 0 {
		took := float64(r.pace.Worked - before)
		r.m.exact.joined.Add(int64(took * float64(r.followed) / float64(r.windows)))
	}
}

// drain resolves the windows of a queue that ended by due.
func (r *resolver) drain(p *window.Queue, due stall.Instant) {
	for {
		r.batch = p.Take(r.batch[:0], due, batchSize)
		if len(r.batch) == 0 {
			return
		}
		r.resolveBatch()
		if len(r.batch) < batchSize {
			return
		}
	}
}

func (r *resolver) resolveBatch() {
	windows := slices.DeleteFunc(r.batch, r.elsewhere)
	if len(windows) == 0 {
		return
	}
	all := stall.Span{Start: windows[0].Start, End: windows[0].End}
	for i := range windows {
		w := windows[i].Window(nil)
		extent := w.Extent()
		known := r.longs.take(&windows[i])
		if known != nil {
			extent.Start = known.upTo
		}
		r.known = append(r.known, known)
		all.Start, all.End = min(all.Start, extent.Start), max(all.End, extent.End)
		if windows[i].Tell == nil {
			r.lengths.note(w.End.Sub(w.Start))
		}
	}
	r.evidence.gather(all)
	for i := range windows {
		r.resolveOne(&windows[i], r.known[i])
		if i%breatheEvery == 0 {
			r.pace.Breathe()
		}
	}
	clear(windows)
	clear(r.known)
	r.known = r.known[:0]
}

// elsewhere reports, and counts, that a window began or ended by another clock: the
// program is in a bubble of testing/synctest then, where it is the year 2000.
func (r *resolver) elsewhere(e window.Ended) bool {
	if e.Start > 0 && e.Start <= e.End {
		return false
	}
	r.foreign.Add(1)
	return true
}

// resolveOne settles a window, or what is left of one that lasted.
func (r *resolver) resolveOne(e *window.Ended, known *long) {
	if r.windows++; e.Slot != window.NoSlot {
		r.followed++
	}
	w := e.Window(r.m.place)
	rest := w
	if known == nil {
		if e.Start < r.evidence.stops.Floor {
			r.forgotten.Add(1)
		}
		known = &r.one
		known.by, known.share.Total = known.by.blank(), 0
	} else {
		rest.Start, rest.Arrival = known.upTo, 0
	}
	r.join(&rest, e.Slot, stall.Span{Start: e.Held, End: e.End}, known)
	s := &known.share
	if s.GC() > 0 {
		s.Collections = max(1, s.Collections)
	}
	r.m.conclude(e, &w, s)
}

// join adds to what is known of a window the piece w of it. It had slot during
// had.
func (r *resolver) join(w *stall.Window, slot int16, had stall.Span, known *long) {
	found := r.evidence.of(w, slot, had, &known.by)
	if known.share.Total == 0 {
		r.joiner.Join(w, found, &known.share)
		return
	}
	known.share.LastCollection = r.m.timeline.Number(known.share.LastCollection)
	r.joiner.Extend(w, found, &known.share)
}

// conclude reports a window whose share is known: to the caller that asked for it, or
// as a request.
func (m *Monitor) conclude(e *window.Ended, w *stall.Window, s *stall.Share) {
	if e.Tell != nil {
		m.panics.safely("window", "a function of Monitor.Resolve", func() { e.Tell(w, s) })
		return
	}
	q := telemetry.Request{
		Share: s, Collections: s.Collections, Kind: m.kind,
		Span: e.Span.Context(), Route: m.requests.routes.name(e.Route),
	}
	m.tel.Request(&q)
	if m.requests.slow.is(s) {
		m.tellSlow(&q, w)
	}
	if m.requests.onWindow != nil {
		m.panics.safely("on_window", "the function of WithOnWindow", func() { m.requests.onWindow(w, s) })
	}
}
