package stall

import (
	"math/bits"
	"slices"
	"time"
)

// sweep cuts the extent of a window at every instant where a fact begins or
// ends, and settles the pieces from left to right.
type sweep struct {
	extent Span
	facts  facts
	count  [numFacts]int32 // how many intervals make the fact true
	edges  []edge
	record bool    // the pieces
	pieces []Piece // that were recorded
}

// edge is the offset from the start of the extent (below maxExtent), a fact and
// whether it begins, in one word, as sorting is what the join spends its time on.
type edge uint64

const edgeBits = 7

func newEdge(at Instant, start Instant, f fact, begin edge) edge {
	return edge(at-start)<<edgeBits | edge(f)<<1 | begin
}

func (w *sweep) begin(extent Span) {
	w.extent = extent
	w.facts = 0
	w.count = [numFacts]int32{}
	w.edges = w.edges[:0]
}

// add says that f holds in s.
func (w *sweep) add(f fact, s Span) {
	s = s.Clip(w.extent)
	if s.Empty() {
		return
	}
	if s.Start == w.extent.Start {
		w.turn(f, 1)
	} else {
		w.edges = append(w.edges, newEdge(s.Start, w.extent.Start, f, 1))
	}
	if s.End != w.extent.End {
		w.edges = append(w.edges, newEdge(s.End, w.extent.Start, f, 0))
	}
}

func (w *sweep) turn(f fact, begin edge) {
	if begin == 1 {
		w.count[f]++
		w.facts |= 1 << f
		return
	}
	// The end of one interval may come before the begin of the next at the same
	// instant; it never comes before its own.
	if w.count[f]--; w.count[f] == 0 {
		w.facts &^= 1 << f
	}
}

func (w *sweep) settle(s *Share) {
	slices.Sort(w.edges)
	at := edge(0)
	for _, e := range w.edges {
		if t := e >> edgeBits; t != at {
			s.settle(w.facts, time.Duration(t-at))
			if w.record {
				w.keep(at, t)
			}
			at = t
		}
		w.turn(fact(e>>1&(1<<(edgeBits-1)-1)), e&1)
	}
	if end := edge(s.Total); end > at {
		s.settle(w.facts, time.Duration(end-at))
		if w.record {
			w.keep(at, end)
		}
	}
}

// keep records the piece between two offsets from the start of the extent.
func (w *sweep) keep(from, to edge) {
	p := Piece{w.extent.Start + Instant(from), w.extent.Start + Instant(to), w.facts.part()}
	if n := len(w.pieces); n > 0 && w.pieces[n-1].Part == p.Part && w.pieces[n-1].End == p.Start {
		w.pieces[n-1].End = p.End
		return
	}
	w.pieces = append(w.pieces, p)
}

// fact is something that is true of an instant of a window. The first facts are
// the causes: the certain claim of that cause, for host causes by an interval
// that applies and is not of scope target.
type fact uint8

const (
	hostCauses = fact(HostUnknown - HostThrottled + 1)

	target       = fact(NumCauses)         // + cause - HostThrottled: an interval of scope target applies
	coincident   = target + hostCauses     // + cause - HostThrottled: an interval does not apply
	inHandler    = coincident + hostCauses // between Start and End
	seen         = inHandler + 1
	targetSeen   = inHandler + 2
	running      = inHandler + 3
	runnable     = inHandler + 4
	parked       = inHandler + 5
	woke         = inHandler + 6 // a stop, and a parking that ended in it or right after
	doubtfulStop = inHandler + 7 // a stop covers it within its slack
	doubtfulOwn  = inHandler + 8
	doubtfulHost = inHandler + 9
	stopper      = inHandler + 10 // the goroutine stops the world
	numFacts     = inHandler + 11
)

// facts is a set of facts.
type facts uint64

const (
	stopFacts  facts = 1<<GCPause | 1<<RuntimeSuspension | 1<<RuntimeUnknown
	ownFacts   facts = 1<<GCAssist | 1<<GCSweep | 1<<GCWait | 1<<SchedGC | 1<<Sched
	hostFacts  facts = (1<<hostCauses - 1) << HostThrottled
	claimFacts       = stopFacts | ownFacts | hostFacts

	// What an interval of scope target outranks.
	belowTarget facts = 1<<GCAssist | 1<<GCSweep | 1<<SchedGC | 1<<Sched | hostFacts
)

func (m facts) has(f fact) bool { return m>>f&1 != 0 }

// asleep reports whether the goroutine was parked by its own doing. Where the
// track contradicts itself the goroutine was awake.
func (m facts) asleep() bool {
	return m&(1<<inHandler|1<<parked|1<<running|1<<runnable) == 1<<inHandler|1<<parked
}

// ran reports whether the goroutine was on a CPU while it did not hold the world
// stopped. No stop delays it then: it has yet to reach it.
func (m facts) ran() bool {
	return m&(1<<inHandler|1<<parked|1<<running|1<<runnable|1<<stopper) == 1<<inHandler|1<<running
}

// targets returns the host causes that intervals of scope target claim.
func (m facts) targets() facts { return m >> target << HostThrottled & hostFacts }

// applying returns the host causes of which an interval applies.
func (m facts) applying() facts { return m&hostFacts | m.targets() }

// certain returns the cause that is charged for certain, or NoCause.
func (m facts) certain() Cause {
	claims := m & claimFacts
	targets := m.targets()
	switch {
	case m.asleep():
		claims, targets = claims&ownFacts, 0
	case m.ran():
		claims &^= stopFacts
	}
	if targets != 0 {
		claims = claims&^belowTarget | targets
	}
	return claims.first()
}

// doubtful reports whether an interval may or may not have cost the time.
func (m facts) doubtful() bool {
	if m.asleep() {
		return m.has(doubtfulOwn) || m.has(woke)
	}
	if m.ran() {
		m &^= 1 << doubtfulStop
	}
	return m&(1<<doubtfulOwn|1<<doubtfulStop|1<<doubtfulHost) != 0
}

// first returns the first cause of a set of causes, or NoCause.
func (m facts) first() Cause {
	if m == 0 {
		return NoCause
	}
	return Cause(bits.TrailingZeros64(uint64(m)))
}

// settle gives d, a piece of the window in which m holds throughout, to its one
// owner, and notes what stands beside it.
func (s *Share) settle(m facts, d time.Duration) {
	if m.has(seen) {
		s.Covered += d
	}
	addEach(&s.Coincident, m>>coincident<<HostThrottled&hostFacts, d)
	switch c := m.certain(); {
	case c != NoCause:
		s.Charged[c] += d
		addEach(&s.HostDuring, m.applying()&^(1<<c), d)
	case m.doubtful():
		s.Uncertain += d
	default:
		if m.asleep() || m.ran() {
			addEach(&s.Overlapped, m&stopFacts, d)
		}
		*s.leftOver(m) += d
	}
}

// part returns the owner of a piece in which m holds throughout, as settle has it.
func (m facts) part() Part {
	if c := m.certain(); c != NoCause {
		return Part(c)
	}
	if m.doubtful() {
		return Uncertain
	}
	var s Share
	p, owner := Part(GCPause), s.leftOver(m)
	for s.Of(p) != owner {
		p++
	}
	return p
}

// leftOver returns the owner of time that nothing claims.
func (s *Share) leftOver(m facts) *time.Duration {
	switch {
	case !m.has(inHandler):
		return &s.Charged[Queue]
	case !m.has(seen):
		return &s.Unseen
	case m.has(running) && m.has(targetSeen):
		return &s.App
	case m.has(running):
		return &s.AppOrHost
	case m.has(runnable):
		return &s.Charged[Sched]
	case m.has(parked):
		return &s.App
	}
	return &s.Unseen
}

func addEach(to *[NumCauses]time.Duration, causes facts, d time.Duration) {
	for ; causes != 0; causes &= causes - 1 {
		to[causes.first()] += d
	}
}
