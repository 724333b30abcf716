package otelgc

import (
	"encoding/binary"
	"sort"

	"github.com/otelgc/otelgc/stall"
)

// walk goes over the known states of a goroutine that reach into a span.
type cursor struct {
	state // the one that is visited

	packed []byte        // from the next one on
	at     stall.Instant // where that begins
	in     stall.Span
}

// in begins a walk.
func (t track) in(s stall.Span) cursor {
	w := cursor{in: s}
	if i := sort.Search(len(t.index), func(i int) bool { return t.index[i].at > s.Start }); i > 0 {
		w.at, w.packed = t.index[i-1].at, t.packed[t.index[i-1].from:]
	} else if len(t.index) > 0 {
		w.at, w.packed = t.index[0].at, t.packed
	}
	return w
}

// next goes to the next one, and reports false if there is none.
func (w *cursor) next() bool {
	for len(w.packed) > 0 && w.at < w.in.End {
		v, n := binary.Uvarint(w.packed)
		w.packed = w.packed[n:]
		w.state = state{
			start: w.at, end: w.at + stall.Instant(v>>stateBits), state: stall.State(v & 3),
			gcWait: v&bitGCWait != 0, network: v&bitNetwork != 0, held: v&bitHeld != 0,
		}
		w.at = w.end
		if w.end > w.in.Start && w.state.state != stall.StateUnknown {
			return true
		}
	}
	return false
}
