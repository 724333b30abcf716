package gotrace

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

// Track holds the states of one followed goroutine during one generation, from
// the generation's start (or the goroutine's creation, or where Lost.Tracks says
// that it is known again) to its end (or the goroutine's). It is valid as long
// as the Generation.
type Track struct {
	Goroutine uint64
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
		t.lay(yield)
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

// resolveTracks makes the Tracks of the picked transitions.
func (d *decoder) resolveTracks(g *Generation) {
	if !d.tracking || d.lost.Transitions > 0 {
		d.forgetStates()
		return
	}
	p := &d.picker
	p.run(d.followed, d.thinned, &d.transitions)
	rest := p.picked
	for i, n := range p.count {
		if d.callbacks {
			d.orderLives(rest[:n])
		}
		d.track(g, p.who[i], rest[:n:n])
		rest = rest[n:]
	}
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
}

func (d *decoder) track(g *Generation, id uint64, picked []uint32) {
	t := Track{Goroutine: id, Most: len(picked) + 1, d: d, picked: picked, extent: g.Span, before: d.followed[id]}
	if _, lost := d.thinned[id]; lost {
		d.lost.Tracks++
		t.before = followed{}
	}
	d.followed[id] = t.before
	if len(picked) == 0 {
		return
	}
	last := t.last()
	if t.Ended = last.known && last.state == stall.StateUnknown; t.Ended {
		delete(d.followed, id)
	} else {
		d.followed[id] = last
	}
	g.Tracks = append(g.Tracks, t)
	d.breathe()
}
