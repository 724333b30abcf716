// Package resolve finds out who had the time of windows that have ended.
//
// A window waits until every source has passed its end, or missed its deadline. Then
// the resolver takes what the sources say about it, and joins that to its share. A
// window that lasts is settled piece by piece, so that little of its past is kept.
package resolve

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/exact"
	"github.com/otelgc/otelgc/otelgc/internal/host"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

const (
	batchSize    = 4096
	breatheEvery = 16 // windows, which take some microseconds
)

// Options are where a [Resolver] takes windows and evidence from. All must be set.
type Options struct {
	Clock    stall.Clock
	Place    *stall.Place // of the process
	Since    stall.Instant
	Windows  *window.Set
	Tracer   *exact.Tracer
	Timeline *timeline.Timeline
	Board    *host.Board
	// WantsPieces reports whether a window that took so long and ended at a time is to have
	// its pieces; of one that is under way it is asked as of the longest.
	WantsPieces func(took time.Duration, at stall.Instant) bool
	// Conclude is called with each window when its share is known, and with its pieces. It
	// keeps nothing.
	Conclude func(*window.Ended, *stall.Window, *stall.Share, *Pieces)
}

// Resolver gives windows their shares. Its methods have one caller, but for those that
// return counts.
type Resolver struct {
	o        *Options
	batch    []window.Ended
	evidence evidence
	joiner   stall.Joiner
	pace     pacer.Pacer
	longs    longs
	known    []*long      // of the batch; nil where nothing is
	one      long         // of a window in one piece
	window   stall.Window // that is concluded
	lengths  lengths

	// windows, and those among them that were followed in the trace, of one call of
	// Resolve: what they took is a cost of tracing.
	windows, followed int

	forgotten atomic.Uint64 // see Forgotten
	foreign   atomic.Uint64 // see Foreign
}

// New returns a Resolver.
func New(o Options) *Resolver {
	return &Resolver{
		o: &o, evidence: evidence{o: &o}, pace: pacer.New(o.Clock),
		longs: longs{of: make(map[int16]*long), cut: o.Since},
	}
}

// Forgotten returns how many windows, since the last call, began before what is
// remembered and were not settled piece by piece: that much of them is unseen.
func (r *Resolver) Forgotten() uint64 { return r.forgotten.Swap(0) }

// Foreign returns how many windows, since the last call, began or ended by another
// clock. They are dropped.
func (r *Resolver) Foreign() uint64 { return r.foreign.Swap(0) }

// passed returns the instant that every source has passed or missed its
// deadline for.
func (r *Resolver) passed(now stall.Instant) stall.Instant {
	return max(min(r.o.Timeline.Watermark(), r.o.Board.Passed(now)), now.Add(-timeline.Deadline))
}

// Resolve gives their shares to the windows that are due.
func (r *Resolver) Resolve(now stall.Instant) {
	before := r.pace.Worked
	r.windows, r.followed = 0, 0
	r.pace.Begin()
	passed := r.passed(now)
	due := passed
	r.drain(r.o.Windows.Requests, due)
	r.o.Tracer.SetWindows(r.lengths.nearlyAll())
	if r.o.Windows.Flushing() {
		due = now.Add(timeline.Deadline)
	}
	r.drain(r.o.Windows.Asked, due)
	r.longs.settle(r, now, passed)
	r.pace.End()
	if r.followed > 0 {
		took := float64(r.pace.Worked - before)
		r.o.Tracer.Charge(time.Duration(took * float64(r.followed) / float64(r.windows)))
	}
}

// drain resolves the windows of a queue that ended by due.
func (r *Resolver) drain(p *window.Queue, due stall.Instant) {
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

func (r *Resolver) resolveBatch() {
	all := stall.Span{Start: math.MaxInt64, End: math.MinInt64}
	n := 0
	for i := range r.batch {
		e := &r.batch[i]
		if r.elsewhere(e) {
			continue
		}
		known := r.longs.take(e)
		w := e.Window(nil)
		extent := w.Extent()
		if known != nil {
			extent.Start = known.upTo
		}
		all.Start, all.End = min(all.Start, extent.Start), max(all.End, extent.End)
		if e.Tell == nil {
			r.lengths.note(e.End.Sub(e.Start))
		}
		r.known = append(r.known, known)
		if n != i {
			r.batch[n] = *e
		}
		n++
	}
	if n == 0 {
		return
	}
	r.evidence.gather(all)
	for i := range n {
		r.resolveOne(&r.batch[i], r.known[i])
		if i%breatheEvery == 0 {
			r.pace.Breathe()
		}
	}
	clear(r.batch)
	clear(r.known)
	r.known = r.known[:0]
}

// elsewhere reports, and counts, that a window began or ended by another clock: the
// program is in a bubble of testing/synctest then, where it is the year 2000.
func (r *Resolver) elsewhere(e *window.Ended) bool {
	if e.Start > 0 && e.Start <= e.End {
		return false
	}
	r.foreign.Add(1)
	return true
}

// resolveOne settles a window, or what is left of one that lasted.
func (r *Resolver) resolveOne(e *window.Ended, known *long) {
	if r.windows++; e.Slot != window.NoSlot {
		r.followed++
	}
	r.window = e.Window(r.o.Place)
	rest := r.window
	if known == nil {
		if e.Start < r.evidence.stops.Floor {
			r.forgotten.Add(1)
		}
		known = &r.one
		known.by.Reset()
		known.share.Total = 0
		known.pieces.reset()
	} else {
		rest.Start, rest.Arrival = known.upTo, 0
	}
	r.join(&rest, e.Slot, stall.Span{Start: e.Held, End: e.End}, known)
	s := &known.share
	if r.o.WantsPieces(s.Total, e.End) {
		known.pieces.add(&r.joiner, &rest, &r.evidence.one, MaxPieces)
	}
	if s.GC() > 0 {
		s.Collections = max(1, s.Collections)
	}
	r.o.Conclude(e, &r.window, s, &known.pieces)
}

// join adds to what is known of a window the piece w of it. It had slot during
// had.
func (r *Resolver) join(w *stall.Window, slot int16, had stall.Span, known *long) {
	found := r.evidence.of(w, slot, had, &known.by)
	if known.share.Total == 0 {
		r.joiner.Join(w, found, &known.share)
		return
	}
	known.share.LastCollection = r.o.Timeline.Number(known.share.LastCollection)
	r.joiner.Extend(w, found, &known.share)
}
