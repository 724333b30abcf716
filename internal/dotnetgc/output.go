package dotnetgc

import "github.com/otelgc/otelgc/stall"

// Output is what became known, in the order in which it did: a background
// collection comes after the ephemeral ones within it.
type Output struct {
	Collections []Collection
	Stops       []Stop
	Incomplete  []Hole
}

// Hole is a stretch of which something was not seen. Start is zero where not
// even that is known.
type Hole struct {
	stall.Span
	Why  string
	Lost uint64 // events that the stream lost in it
}

// Stats counts what the model met and could not use. All are zero for a whole
// stream that began while no collection ran.
type Stats struct {
	Lost      uint64 // events that the stream lost
	Malformed uint64 // events that are too short, or say what cannot be, or when
	Unmatched uint64 // events of stops that fit no stop, and stops that were never over
	Orphans   uint64 // events of collections whose start was not seen
	Dropped   uint64 // collections, stops and records that were given up over a limit
}

// lost notes that events are missing. What is open then may lack a part without
// a sign of it, so it is incomplete.
func (m *Model) lost(thread, n uint64, since, at stall.Instant) {
	m.stats.Lost += n
	m.lostInStops(thread, n)
	for _, c := range m.open {
		c.lossy = true
	}
	if k := len(m.out.Incomplete) - 1; k >= 0 && m.out.Incomplete[k].Lost > 0 && since <= m.out.Incomplete[k].End {
		h := &m.out.Incomplete[k]
		h.Start, h.End, h.Lost = min(h.Start, since), max(h.End, at), h.Lost+n
		return
	}
	m.hole(since, at, "events were lost")
	m.out.Incomplete[len(m.out.Incomplete)-1].Lost += n
}

// output is what was not taken.
type output struct {
	Output
	held int // bytes of memory
}

// hole names a stretch that was not seen. The last one grows if there are too
// many: more is unseen than was, never less.
func (m *Model) hole(start, end stall.Instant, why string) {
	end = max(start, end)
	if n := len(m.out.Incomplete); n == maxUntaken {
		last := &m.out.Incomplete[n-1]
		last.Start, last.End = min(last.Start, start), max(last.End, end)
		return
	}
	m.out.Incomplete = append(m.out.Incomplete, Hole{Span: stall.Span{Start: start, End: end}, Why: why})
	m.out.held += 2 * holeBytes
}

func (m *Model) handOutStop(s Stop) {
	if len(m.out.Stops) == maxUntaken {
		m.stats.Dropped++
		m.hole(s.Begin, s.latest(), "stops were not taken")
		return
	}
	m.out.Stops = append(m.out.Stops, s)
	m.out.held += s.heldBytes()
}

func (m *Model) handOutCollection(c Collection) {
	if len(m.out.Collections) == maxUntaken {
		m.stats.Dropped++
		m.hole(c.Start.Or(0), m.now, "collections were not taken")
		return
	}
	m.out.Collections = append(m.out.Collections, c)
	m.out.held += c.heldBytes()
}

// Take returns what became known since the last call. The caller owns it.
func (m *Model) Take() Output {
	out := m.out.Output
	m.out = output{}
	return out
}

// Stats returns what was counted so far.
func (m *Model) Stats() Stats { return m.stats }
