package stall

import (
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
			at = t
		}
		w.turn(fact(e>>1&(1<<(edgeBits-1)-1)), e&1)
	}
	if rest := s.Total - time.Duration(at); rest > 0 {
		s.settle(w.facts, rest)
	}
}
