package gotrace

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// Track holds the states of one followed goroutine during one generation, or of
// the coroutine that has taken its place (see [Turn]), from the generation's start (or the goroutine's creation, or where Lost.Tracks says
// that it is known again) to its end (or the goroutine's). It is valid as long
// as the Generation.
type Track struct {
	Goroutine uint64
	Created   bool // the goroutine was created by a go statement, and the states begin there
	Ended     bool // the goroutine ended, and is followed no longer
	// Most is the most spans that it can have, the gaps between them included.
	Most int

	spans  []TrackSpan // of NewTrack
	d      *decoder
	picked []uint32 // the places of its changes, at least one
	extent stall.Span
	before followed // what was known when the generation began
}

// NewTrack returns the track of a goroutine that has the given states.
func NewTrack(goroutine uint64, spans ...TrackSpan) Track {
	t := Track{Goroutine: goroutine, Most: len(spans), spans: spans}
	for i := 1; i < len(spans); i++ {
		if spans[i].Start > spans[i-1].End {
			t.Most++
		}
	}
	return t
}

// Spans yields the states in order, without overlap. They are laid out anew each
// time: in a list they would take more memory than all else in the package.
func (t *Track) Spans(yield func(TrackSpan) bool) {
	if t.d != nil {
		t.build(yield)
		return
	}
	for _, s := range t.spans {
		if !yield(s) {
			return
		}
	}
}

// TrackSpan is a stretch in one state.
type TrackSpan struct {
	stall.StateSpan
	// Reason says why the goroutine left the CPU, as the runtime writes it, or
	// "syscall". Empty while it runs, and where a generation does not repeat
	// what the one before it did not show.
	Reason string
	// GCWait says that the goroutine waited for the collector: for its work, for
	// a phase of it to end, for its stack to be scanned, or for others to begin a
	// collection that it would have begun.
	GCWait bool
	// Held says that the runtime parked the goroutine while it ran, not for a
	// collection: it did not wait by its own doing.
	Held bool
}

// resolveTracks makes the Tracks of the picked transitions.
func (d *decoder) resolveTracks(g *Generation) {
	if !d.tracking || d.lost.Transitions > 0 {
		d.forgetStates()
		return
	}
	p := &d.picker
	d.standIns, d.standNext = d.standNext, d.standIns
	clear(d.standNext)
	d.want()
	p.run(d.thinned, &d.transitions)
	if d.callbacks {
		for i := range p.ids {
			d.orderLives(p.of(uint32(i)))
		}
	}
	for i, id := range p.ids {
		if _, ok := d.followed[id]; ok {
			d.track(g, uint32(i))
		}
	}
	g.sortTurns()
}

// want chooses the goroutines of which transitions are picked.
func (d *decoder) want() {
	p := &d.picker
	p.ids = p.ids[:0]
	for g := range d.followed {
		p.ids = append(p.ids, g)
	}
	if len(d.standIns) > 0 || d.switches > 0 {
		d.wantCoroutines()
	}
	slices.Sort(p.ids)
}

// orderLives puts the changes of a goroutine in order that was created more
// than once. A callback from C has the goroutine of the thread that it borrows,
// and each C thread that borrows it begins anew: the same id, and sequence
// numbers from 0 (runtime/proc.go, needm and dropm). No two have it at once, so
// time tells them apart.
func (d *decoder) orderLives(picked []uint32) {
	if !slices.ContainsFunc(picked, func(i uint32) bool { return d.transitions.at(i).change() == createdInSyscall }) {
		return
	}
	slices.SortStableFunc(picked, func(a, b uint32) int {
		return cmp.Compare(d.transitions.at(a).at, d.transitions.at(b).at)
	})
}

// forgetStates makes every followed goroutine's state unknown, since a
// generation went by unseen.
func (d *decoder) forgetStates() {
	for g := range d.followed {
		d.followed[g] = followed{}
	}
	clear(d.standNext)
}

func (d *decoder) track(g *Generation, index uint32) {
	id, picked := d.picker.ids[index], d.picker.of(index)
	t := Track{Goroutine: id, Most: len(picked) + 1, d: d, picked: picked, extent: g.Span, before: d.followed[id]}
	if _, lost := d.thinned[id]; lost {
		d.lost.Tracks++
		t.before = followed{}
	}
	d.followed[id] = t.before
	if len(picked) == 0 {
		return
	}
	t.Created = d.transitions.at(picked[0]).change() == created
	last := t.last()
	if t.switches() {
		var ok bool
		if last, ok = d.standIn(g, &t, last); !ok {
			d.lost.Tracks++
			d.followed[id] = followed{}
			return
		}
	}
	if t.Ended = last.known && last.state == stall.StateUnknown; t.Ended {
		delete(d.followed, id)
	} else {
		d.followed[id] = last
	}
	g.Tracks = append(g.Tracks, t)
	d.breathe()
}

// spanBuilder puts the states of one goroutine end to end.
type spanBuilder struct {
	d       *decoder
	at, end stall.Instant
	cur     followed // the state since at
	next    TrackSpan
	begun   bool // next is a span, which the state after it may prolong

	away *away // nil if the goroutine has not switched to a coroutine yet
}

// build yields the spans of a track.
func (t *Track) build(yield func(TrackSpan) bool) {
	b := t.builder()
	b.build(t, yield)
}

func (t *Track) builder() spanBuilder {
	return spanBuilder{d: t.d, at: t.extent.Start, end: t.extent.End, cur: t.before}
}

func (b *spanBuilder) build(t *Track, yield func(TrackSpan) bool) {
	b.switchAway(t, noPlace)
	for _, place := range t.picked {
		change := b.d.transitions.at(place)
		c := change.change()
		if c.isStatus() {
			b.status(change)
			continue
		}
		if !b.advance(b.d.clock.instant(change.at), c, yield) {
			return
		}
		if b.cur = b.d.after(change); b.away != nil {
			b.away.on = false
		}
		if c == switchedAway {
			b.switchAway(t, place)
		}
	}
	// Behind all: the last of a coroutine may be the generation's last.
	if b.advance(b.end+1, isRunning, yield) && b.begun {
		yield(b.next)
	}
}

// status applies an EvGoStatus of the goroutine. While a coroutine has its place,
// the goroutine waits.
func (b *spanBuilder) status(status *transition) {
	switch {
	case b.away == nil || !b.away.on:
		b.cur = b.cur.withStatus(b.d.after(status))
	case status.change() != isWaiting:
		b.away.on = false
		b.cur = b.d.after(status)
	}
}

// advance yields what lies before the next change of the goroutine, at t.
func (b *spanBuilder) advance(t stall.Instant, by change, yield func(TrackSpan) bool) bool {
	switch {
	case b.away != nil && b.away.on:
		return b.coroutines(t, yield)
	case by == switchedTo:
		b.cur = followed{} // it waited for a coroutine, it is not known for which
	}
	return b.until(t, yield)
}

// last returns what is known when the generation ends.
func (t *Track) last() followed {
	cur := t.before
	if last := t.d.transitions.at(t.picked[len(t.picked)-1]); !last.change().isStatus() {
		return t.d.after(last)
	}
	for _, i := range t.picked { // one or two
		if change := t.d.transitions.at(i); change.change().isStatus() {
			cur = cur.withStatus(t.d.after(change))
		} else {
			cur = t.d.after(change)
		}
	}
	return cur
}

// after returns the state in which a change leaves the goroutine.
func (d *decoder) after(t *transition) followed {
	c := t.change()
	next := followed{known: true, state: stateAfter[c]}
	switch {
	case c.inSyscall():
		next.reason = reasonSyscall
	case c == blocked || c == stopped:
		next.reason = d.text(t.reason())
		next.turn = c == blocked && next.reason == reasonSync && d.waitsToCollect(t.stack())
	}
	return next
}

// withStatus returns f after an EvGoStatus: the state since the generation began. What the
// generation before knew is kept where it does not contradict, since a status
// has no reason.
func (f followed) withStatus(status followed) followed {
	if !f.known || f.state != status.state {
		return status
	}
	return f
}

// until ends the current state at t. Instants that run backwards are moved to
// where they cannot overlap: the order of the changes is certain, the clocks of
// two CPUs may not be.
func (b *spanBuilder) until(t stall.Instant, yield func(TrackSpan) bool) bool {
	t = min(max(t, b.at), b.end)
	start := b.at
	b.at = t
	if !b.cur.known || b.cur.state == stall.StateUnknown || t == start {
		return true
	}
	if b.begun && b.next.End == start && b.next.State == b.cur.state && b.next.Reason == b.cur.reason {
		b.next.End = t
		return true
	}
	if b.begun && !yield(b.next) {
		return false
	}
	b.begun = true
	b.next = TrackSpan{StateSpan: stall.StateSpan{Start: start, End: t, State: b.cur.state}, Reason: b.cur.reason}
	if b.cur.state == stall.StateParked {
		b.next.GCWait, b.next.Held = b.d.parkedFor(b.cur.reason, start)
		b.next.GCWait = b.next.GCWait || b.cur.turn
	}
	return true
}
