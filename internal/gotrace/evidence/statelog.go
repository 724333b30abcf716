package evidence

import (
	"encoding/binary"
	"slices"
	"sort"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// State is a stretch of a goroutine in one state, with what the join wants to know of the
// reason.
type State struct {
	stall.StateSpan
	gcWait  bool // parked until the collector has done something
	held    bool // kept from running by the runtime, for an unknown reason
	network bool // parked until there is something to read, or room to write
}

// reasonNetwork is the block reason of a goroutine that waits for the network
// (runtime/traceruntime.go, traceBlockNet).
const reasonNetwork = "network"

func newState(t gotrace.TrackSpan) State {
	s := State{
		StateSpan: t.StateSpan, gcWait: t.GCWait, held: t.Held,
		network: t.State == stall.StateParked && t.Reason == reasonNetwork,
	}
	if s.held {
		s.State = stall.StateRunnable // it wants to run on
	}
	return s
}

// Span returns when it was.
func (s *State) Span() stall.Span { return stall.Span{Start: s.Start, End: s.End} }

// A state is kept as a varint: how long it lasted, in nanoseconds, and in the
// lowest bits what it was. It began when the one before it ended. A goroutine that
// waits for a sweep yields hundreds of thousands of times a second, and each of
// its states takes two or three bytes.
const (
	bitGCWait  = 1 << 2
	bitNetwork = 1 << 3
	bitHeld    = 1 << 4
	stateBits  = 5

	// usualState is what most take, in bytes: less than 65 us.
	usualState = 3
)

// stateLog is the memory for the states of a generation's tracks.
type stateLog struct {
	bytes []byte
	index []indexEntry
}

// indexEntry is where a state begins: in time, and in the bytes of its track.
type indexEntry struct {
	at   stall.Instant
	from int32
}

// indexEvery is how many states one has to go over, at most, to find one by time.
const indexEvery = 64

// track is what one goroutine did in one generation, end to end.
type track struct {
	goroutine uint64
	created   bool // it began in the generation, where the states begin
	ended     bool // and it ended in it, where they end, unless they are lost
	packed    []byte
	index     []indexEntry  // the first is where it begins
	until     stall.Instant // the end of its states
	count     int           // of assists
	assists   []assist      // by start
	lost      bool          // something was too much to keep: nothing is known
}

// clear makes the states ready for so many states of tracks, in one step: memory
// that grows is garbage, and large garbage is assists.
func (s *stateLog) clear(states, tracks int) {
	s.bytes = slices.Grow(s.bytes[:0], min(states, maxStates/usualState)*usualState)
	s.index = slices.Grow(s.index[:0], min(states, maxStates/usualState)/indexEvery+tracks)
}

// put packs the states of a goroutine behind others. It reports false, and keeps
// nothing, if there is no room. Where states leave a gap, the goroutine's state is
// not known.
func (s *stateLog) put(t *gotrace.Track) (track, bool) {
	p := packer{stateLog: s, first: len(s.bytes), indexEntry: len(s.index)}
	for span := range t.Spans {
		if !p.add(newState(span)) {
			s.bytes, s.index = s.bytes[:p.first], s.index[:p.indexEntry]
			return track{goroutine: t.Goroutine, ended: t.Ended, lost: true}, false
		}
	}
	return track{
		goroutine: t.Goroutine, created: t.Created, ended: t.Ended, until: p.at,
		packed: s.bytes[p.first:], index: s.index[p.indexEntry:],
	}, true
}

// packer packs the states of one track.
type packer struct {
	*stateLog
	first, indexEntry int // where those of the track begin
	n                 int // states
	at                stall.Instant
}

func (p *packer) add(s State) bool {
	switch {
	case p.n == 0:
		p.at = s.Start
	case s.Start > p.at && !p.pack(State{StateSpan: stall.StateSpan{End: s.Start}}):
		return false
	}
	return p.pack(s)
}

func (p *packer) pack(s State) bool {
	if len(p.bytes)+binary.MaxVarintLen64 > maxStates {
		return false
	}
	if p.n%indexEvery == 0 {
		p.index = append(p.index, indexEntry{p.at, int32(len(p.bytes) - p.first)})
	}
	p.bytes = binary.AppendUvarint(p.bytes, uint64(max(s.End-p.at, 0))<<stateBits|s.bits())
	p.at, p.n = max(s.End, p.at), p.n+1
	return true
}

func (s *State) bits() uint64 {
	b := uint64(s.State)
	if s.gcWait {
		b |= bitGCWait
	}
	if s.network {
		b |= bitNetwork
	}
	if s.held {
		b |= bitHeld
	}
	return b
}

// Cursor visits the known states of a goroutine that reach into a span, by time. The zero
// Cursor visits none.
type Cursor struct {
	State // the one that is visited

	packed []byte        // from the next one on
	at     stall.Instant // where that begins
	in     stall.Span
}

// in returns a cursor before the first state that reaches into s.
func (t track) in(s stall.Span) Cursor {
	w := Cursor{in: s}
	if i := sort.Search(len(t.index), func(i int) bool { return t.index[i].at > s.Start }); i > 0 {
		w.at, w.packed = t.index[i-1].at, t.packed[t.index[i-1].from:]
	} else if len(t.index) > 0 {
		w.at, w.packed = t.index[0].at, t.packed
	}
	return w
}

// Next goes to the next one, and reports false if there is none.
func (w *Cursor) Next() bool {
	for len(w.packed) > 0 && w.at < w.in.End {
		v, n := binary.Uvarint(w.packed)
		w.packed = w.packed[n:]
		w.State = State{
			StateSpan: stall.StateSpan{Start: w.at, End: w.at + stall.Instant(v>>stateBits), State: stall.State(v & 3)},
			gcWait:    v&bitGCWait != 0, network: v&bitNetwork != 0, held: v&bitHeld != 0,
		}
		w.at = w.End
		if w.End > w.in.Start && w.State.State != stall.StateUnknown {
			return true
		}
	}
	return false
}
