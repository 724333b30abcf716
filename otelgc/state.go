package otelgc

import (
	"sort"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// state is a stretch of a goroutine in one state, with what the join wants to
// know of the reason.
type state struct {
	start, end stall.Instant
	state      stall.State
	gcWait     bool // parked until a phase of the collector is over
	network    bool // parked until there is something to read, or room to write
}

// reasonNetwork is the block reason of a goroutine that waits for the network
// (runtime/traceruntime.go, traceBlockNet).
const reasonNetwork = "network"

func newState(t gotrace.TrackSpan) state {
	return state{
		start: t.Start, end: t.End, state: t.State,
		gcWait:  t.GCWait,
		network: t.State == stall.StateParked && t.Reason == reasonNetwork,
	}
}

func (s *state) span() stall.Span { return stall.Span{Start: s.start, End: s.end} }

// packed is a state as it is kept, of which there are many: when it ended, in
// nanoseconds after the start of its track, and what it was. It began when the
// one before it ended.
type packed uint64

const (
	packedGCWait  packed = 1 << 2
	packedNetwork packed = 1 << 3
	packedBits           = 4
)

func pack(s state, from stall.Instant) packed {
	p := packed(s.end-from)<<packedBits | packed(s.state)
	if s.gcWait {
		p |= packedGCWait
	}
	if s.network {
		p |= packedNetwork
	}
	return p
}

func (p packed) end(from stall.Instant) stall.Instant {
	return from + stall.Instant(p>>packedBits)
}

// track is what one goroutine did in one generation, end to end.
type track struct {
	goroutine uint64
	start     stall.Instant
	states    []packed
}

// appendTrack packs the states of a goroutine behind others. It returns when
// they begin, and the longer list; false if that would be longer than limit.
// Where states leave a gap, the goroutine's state is not known.
func appendTrack(to []packed, t *gotrace.Track, limit int) (start stall.Instant, all []packed, ok bool) {
	at, first := stall.Instant(0), len(to)
	for span := range t.Spans {
		s := newState(span)
		if len(to) == first {
			start, at = s.start, s.start
		}
		if len(to)+2 > limit && (len(to) == limit || s.start > at) {
			return 0, to[:first], false
		}
		if s.start > at {
			to = append(to, pack(state{end: s.start}, start))
		}
		to = append(to, pack(s, start))
		at = s.end
	}
	return start, to, true
}

// walk goes over the known states of a goroutine that reach into a span.
type walk struct {
	state // the one that is visited

	track track
	at    stall.Instant // where the next one begins
	until stall.Instant
}

// in begins a walk.
func (t track) in(s stall.Span) walk {
	i := sort.Search(len(t.states), func(i int) bool { return t.states[i].end(t.start) > s.Start })
	w := walk{track: t, at: t.start, until: s.End}
	if i > 0 {
		w.at = t.states[i-1].end(t.start)
	}
	w.track.states = t.states[i:]
	return w
}

// next goes to the next one, and reports false if there is none.
func (w *walk) next() bool {
	for len(w.track.states) > 0 && w.at < w.until {
		p := w.track.states[0]
		w.state = state{
			start: w.at, end: p.end(w.track.start), state: stall.State(p & 3),
			gcWait: p&packedGCWait != 0, network: p&packedNetwork != 0,
		}
		w.track.states, w.at = w.track.states[1:], w.end
		if w.state.state != stall.StateUnknown {
			return true
		}
	}
	return false
}
