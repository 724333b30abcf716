package resolve

import (
	"math"
	"math/bits"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/exact"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// lengths counts windows by the bit length of their duration, halved now and then,
// so that slices can be longer than nearly all windows.
type lengths [64]uint64

// note counts a window that took d.
func (l *lengths) note(d time.Duration) {
	i := bits.Len64(uint64(max(d, 0)))
	l[i]++
	if l[i] > 1<<20 {
		for k := range l {
			l[k] /= 2
		}
	}
}

// nearlyAll returns what 99.9 % of the windows take, at most twice too much.
func (l *lengths) nearlyAll() time.Duration {
	var sum, total uint64
	for _, n := range l {
		total += n
	}
	for i, n := range l {
		sum += n
		if sum*1000 >= total*999 {
			return time.Duration(uint64(1)<<i - 1)
		}
	}
	return 0
}

const (
	// cutEvery is how often what lasts is settled while a slice is traced: as
	// often as there is a generation to be given back.
	cutEvery = time.Second
	// cutSeldom is how often it is between slices, where there is little to say
	// of a window, and the logs hold it for long.
	cutSeldom = 5 * time.Second
	// cutLate is when a cut is made though it costs certainty.
	cutLate = 2 * cutEvery
)

// long is what is known of a window that lasts, up to the last cut.
type long struct {
	window.Open
	upTo   stall.Instant
	by     exact.Carrier
	share  stall.Share
	pieces Pieces
}

// room returns how many pieces a window that lasts may have.
func (l *longs) room(of *long) int {
	held := 0
	for _, known := range l.of {
		if known != of {
			held += len(known.pieces.List)
		}
	}
	return min(MaxPieces, maxHeld-held)
}

// longs settles windows that last, piece by piece, so that nothing has to be
// kept of their past: memory for a stream of hours is that for one of seconds.
//
// A cut is made at an instant that all sources have passed. The windows that are
// open then are settled up to it; those that have ended since are in the queues,
// and need the generations before the cut until they are resolved: when the sources
// have passed the instant at which the cut was made, and the queues have given up
// what had come by then.
type longs struct {
	of   map[int16]*long
	cut  stall.Instant
	made stall.Instant   // when the cut was; 0 when everything before it is given back
	came window.Arrivals // by then
	open []window.Open
}

// settle makes a cut if it is time for one. The windows that ended by due have
// been resolved.
func (l *longs) settle(r *Resolver, now, due stall.Instant) {
	if l.made != 0 && due > l.made && r.o.Windows.Took(l.came) {
		l.giveBack(r.o.Tracer.Store)
	}
	if l.made != 0 || due.Sub(l.cut) < cutEvery {
		return
	}
	if due.Sub(l.cut) < cutSeldom && !r.o.Tracer.Store.Unsettled(due) {
		return
	}
	l.open = r.o.Windows.Slots.AppendOpen(l.open[:0], due)
	at := due
	if len(l.open) > 0 {
		r.evidence.gather(stall.Span{Start: l.begin(due), End: due})
		if at = r.evidence.quiet(due); at <= l.cut || due.Sub(at) > cutLate {
			at = due
		}
	}
	for _, w := range l.open {
		if w.Start < at {
			l.piece(r, w, at, now)
			r.pace.Breathe()
		}
	}
	l.cut, l.made, l.came = at, now, r.o.Windows.Came()
}

// begin returns where the first piece begins.
func (l *longs) begin(due stall.Instant) stall.Instant {
	first := due
	for _, w := range l.open {
		if known := l.known(w); known != nil {
			first = min(first, known.upTo)
		} else {
			extent := w.Window(nil).Extent()
			first = min(first, extent.Start)
		}
	}
	return first
}

func (l *longs) known(w window.Open) *long {
	if known := l.of[w.Slot]; known != nil && known.Held == w.Held {
		return known
	}
	return nil
}

// piece settles a window up to at. Its marks are those up to now.
func (l *longs) piece(r *Resolver, w window.Open, at, now stall.Instant) {
	p := w.Window(r.o.Place)
	known := l.known(w)
	if known == nil {
		known = &long{Open: w}
		l.of[w.Slot] = known
	} else {
		p.Start, p.Arrival = known.upTo, 0
	}
	p.End = at
	r.join(p, w.Slot, stall.Span{Start: w.Held, End: now}, known)
	if r.o.WantsPieces(math.MaxInt64, at) {
		known.pieces.add(&r.joiner, p, &r.evidence.one, l.room(known))
	}
	known.upTo = at
}

// take returns what is known of a window that has ended, nil if it is settled in
// one piece.
func (l *longs) take(e *window.Ended) *long {
	if e.Slot == window.NoSlot {
		return nil
	}
	known := l.of[e.Slot]
	if known == nil || known.Held != e.Held {
		return nil
	}
	delete(l.of, e.Slot)
	if known.Start != e.Start || known.Arrival != e.Arrival || known.upTo > e.End {
		return nil // its caller, who keeps the times, has changed them
	}
	return known
}

// giveBack gives up what is before the cut. Of the windows that were not open at
// the cut, all that were taken have been resolved.
func (l *longs) giveBack(store *exact.Store) {
	store.Settled(l.cut)
	for slot, known := range l.of {
		if known.upTo < l.cut {
			delete(l.of, slot)
		}
	}
	l.made = 0
}
