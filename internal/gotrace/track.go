package gotrace

import (
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// Track holds the states of one followed goroutine during one generation, in
// order, without overlap, from the generation's start (or the goroutine's
// creation) to its end (or the goroutine's).
type Track struct {
	Goroutine uint64
	Spans     []TrackSpan // valid as long as the Generation
	Ended     bool        // the goroutine ended, and is followed no longer
}

// TrackSpan is a stretch in one state.
type TrackSpan struct {
	stall.StateSpan
	// Reason says why the goroutine left the CPU, as the runtime writes it, or
	// "syscall". Empty while it runs, and where a generation does not repeat
	// what the one before it did not show.
	Reason string
	// GCWait says that Reason belongs to the collector: the goroutine waited
	// for its work or for a phase of it to end.
	GCWait bool
}

// reasonSyscall is the Reason of a goroutine in a system call.
const reasonSyscall = "syscall"

// gcWaits are the block reasons that belong to the collector
// (runtime/traceruntime.go, traceBlockReasonStrings). "GC background sweeper
// wait" is not one: it is the idle sweeper waiting for work.
var gcWaits = [...]string{"GC mark assist wait for work", "wait until GC ends", "GC weak to strong wait"}

func isGCWait(reason string) bool { return slices.Contains(gcWaits[:], reason) }

// resolveTracks builds the Tracks from the picked transitions.
func (d *decoder) resolveTracks(g *Generation) {
	if !d.following || d.lost.Transitions > 0 {
		d.forgetStates()
		return
	}
	d.picker.run(d.followed, &d.transitions)
	list := d.picker.list
	d.spans = d.spans[:0]
	d.trackEnds = d.trackEnds[:0]
	for i := 0; i < len(list); {
		n := i + 1
		for n < len(list) && list[n].who == list[i].who {
			n++
		}
		d.track(g, d.picker.who[list[i].who], list[i:n])
		d.breathe()
		i = n
	}
	// Spans may have moved while it grew, so the slices are cut at the end.
	start := 0
	for i, end := range d.trackEnds {
		g.Tracks[i].Spans = d.spans[start:end:end]
		start = end
	}
}

// forgetStates makes every followed goroutine's state unknown, since a
// generation went by unseen.
func (d *decoder) forgetStates() {
	for g := range d.followed {
		d.followed[g] = followed{}
	}
}

func (d *decoder) track(g *Generation, id uint64, list []picked) {
	b := trackBuilder{spans: &d.spans, first: len(d.spans), at: g.Start, end: g.End, cur: d.followed[id]}
	for i := range list {
		t := &list[i]
		c := change(t.what)
		next := followed{known: true, state: stateAfter[c]}
		switch {
		case c.inSyscall():
			next.reason = reasonSyscall
		case c == blocked || c == stopped:
			next.reason = d.text(uint64(t.what >> 8))
		}
		if c.isStatus() {
			b.status(next)
			continue
		}
		b.until(d.clock.instant(t.at))
		b.cur = next
	}
	b.until(g.End)
	over := b.cur.known && b.cur.state == stall.StateUnknown
	if over {
		delete(d.followed, id)
	} else {
		d.followed[id] = b.cur
	}
	g.Tracks = append(g.Tracks, Track{Goroutine: id, Ended: over})
	d.trackEnds = append(d.trackEnds, len(d.spans))
}

// trackBuilder lays one goroutine's states end to end.
type trackBuilder struct {
	spans   *[]TrackSpan
	first   int // of this goroutine in spans
	at, end stall.Instant
	cur     followed
}

// status takes an EvGoStatus: the state since the generation began. What the
// generation before knew is kept where it does not contradict, since a status
// has no reason.
func (b *trackBuilder) status(s followed) {
	if !b.cur.known || b.cur.state != s.state {
		b.cur = s
	}
}

// until ends the current state at t. Instants that run backwards are moved to
// where they cannot overlap: the order of the changes is certain, the clocks of
// two CPUs may not be.
func (b *trackBuilder) until(t stall.Instant) {
	t = min(max(t, b.at), b.end)
	if b.cur.known && b.cur.state != stall.StateUnknown && t > b.at {
		b.add(TrackSpan{
			StateSpan: stall.StateSpan{Start: b.at, End: t, State: b.cur.state},
			Reason:    b.cur.reason,
			GCWait:    isGCWait(b.cur.reason) && b.cur.state == stall.StateParked,
		})
	}
	b.at = t
}

func (b *trackBuilder) add(s TrackSpan) {
	if n := len(*b.spans); n > b.first {
		last := &(*b.spans)[n-1]
		if last.End == s.Start && last.State == s.State && last.Reason == s.Reason {
			last.End = s.End
			return
		}
	}
	*b.spans = append(*b.spans, s)
}
