// Package strip draws where the time of slow requests went: each request as a strip on
// one clock, and what all had of the time by percentile. A drawing is HTML with SVG in it,
// needs no script and nothing from elsewhere, and has a table with its exact numbers. As
// characters it is a line of a terminal.
package strip

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Generator is the part of a load generator, whose time is no service's. It follows on
// the parts of package stall.
const Generator = stall.NumParts

// Request is a request to be drawn.
type Request struct {
	Name        string
	Lane        string        // of its pieces; empty if it is a request
	Pieces      []stall.Piece // in order, without a gap between them
	Sums        *stall.Share  // exact; nil if they are those of the pieces
	Coarse      bool          // each piece has the part with most of it
	Collections []Collection  // that were under way meanwhile
	Stops       []stall.Interval
	Gaps        []stall.Interval // of the machine; nil if they are not known, and not to be drawn
	Sentence    string           // where its time went
}

// Collection is a garbage collection, and its pauses.
type Collection struct {
	Index  uint64
	Span   stall.Span
	Pauses []stall.Span
}

// Span returns from when to when the request was under way.
func (r *Request) Span() stall.Span {
	if len(r.Pieces) == 0 {
		return stall.Span{}
	}
	return stall.Span{Start: r.Pieces[0].Start, End: r.Pieces[len(r.Pieces)-1].End}
}

// AddCollections adds the collections, and their pauses, that were under way while the
// request was.
func (r *Request) AddCollections(list []gc.Collection) {
	span := r.Span()
	for i := range list {
		c := &list[i]
		drawn := Collection{Index: c.Index}
		for _, p := range c.Pauses {
			v := stall.Interval{Start: p.Start, End: p.End, Cause: stall.GCPause}
			drawn.Pauses = append(drawn.Pauses, v.Span())
			if !v.Span().Clip(span).Empty() {
				r.Stops = append(r.Stops, v)
			}
		}
		start, known := c.Start.Get()
		if end, over := c.End.Get(); known && over {
			if drawn.Span = (stall.Span{Start: start, End: end}); !drawn.Span.Clip(span).Empty() {
				r.Collections = append(r.Collections, drawn)
			}
		}
	}
}

// Time is the time that a part had.
type Time struct {
	Part stall.Part
	Time time.Duration
}

// Times returns what each part had, the most first.
func (r *Request) Times() (all []Time) {
	var sums [Generator + 1]time.Duration
	for _, p := range r.Pieces {
		sums[min(p.Part, Generator)] += p.End.Sub(p.Start)
	}
	if r.Sums != nil {
		for p := range stall.NumParts {
			sums[p] = *r.Sums.Of(p)
		}
	}
	for p, d := range sums {
		if d > 0 {
			all = append(all, Time{stall.Part(p), d})
		}
	}
	slices.SortStableFunc(all, func(a, b Time) int { return cmp.Compare(b.Time, a.Time) })
	return all
}

// Group is what is drawn in one colour.
type Group uint8

// The groups, in the order in which they are stacked.
const (
	GC Group = iota
	Runtime
	Sched
	Host
	Queue
	Load
	App
	Unseen
	NumGroups
)

var groups = [NumGroups]struct {
	label  string
	letter byte
	class  string
}{
	{"garbage collection", 'G', "gc"},
	{"other stops of the runtime", 'R', "rt"},
	{"Go scheduler", 's', "sc"},
	{"machine", 'H', "ho"},
	{"queue", 'q', "qu"},
	{"load generator", 'l', "lo"},
	{"program", '.', "ap"},
	{"not seen", '?', "un"},
}

// String returns the name of g in a legend.
func (g Group) String() string { return groups[g].label }

// Letter stands for g in a line of characters.
func (g Group) Letter() byte { return groups[g].letter }

// GroupOf returns the group of a part. What is uncertain was not seen well enough. A wait
// for a CPU that the collector had is the scheduler's: it is an upper bound.
func GroupOf(p stall.Part) Group {
	switch c := stall.Cause(p); {
	case p == Generator:
		return Load
	case p == stall.App || p == stall.AppOrHost:
		return App
	case p > stall.App:
		return Unseen
	case c.IsGC():
		return GC
	case c.IsStop():
		return Runtime
	case c.IsHost():
		return Host
	case c == stall.Queue:
		return Queue
	}
	return Sched
}

// label returns the name of a part beside a strip.
func label(p stall.Part) string {
	if p == Generator {
		return "load generator"
	}
	return p.String()
}

// Cells cuts the request into n stretches of one length, and returns for each the part
// that has the most of it.
func (r *Request) Cells(n int) []stall.Part {
	s := r.Span()
	if s.Empty() || n <= 0 {
		return nil
	}
	cells := make([]stall.Part, 0, n)
	first := 0
	for i := range n {
		cell := stall.Span{Start: s.Start.Add(scale(s.Duration(), i, n)), End: s.Start.Add(scale(s.Duration(), i+1, n))}
		for first < len(r.Pieces)-1 && r.Pieces[first].End <= cell.Start {
			first++
		}
		var sums [Generator + 1]time.Duration
		for _, p := range r.Pieces[first:] {
			if p.Start >= cell.End {
				break
			}
			sums[min(p.Part, Generator)] += stall.Span{Start: p.Start, End: p.End}.Clip(cell).Duration()
		}
		most := r.Pieces[first].Part
		for p := range sums {
			if sums[p] > sums[most] {
				most = stall.Part(p)
			}
		}
		cells = append(cells, most)
	}
	return cells
}

// scale returns i of n parts of d.
func scale(d time.Duration, i, n int) time.Duration {
	return time.Duration(float64(d) * float64(i) / float64(n))
}

// Line returns the request as n characters.
func (r *Request) Line(n int) string {
	var b []byte
	for _, p := range r.Cells(n) {
		b = append(b, GroupOf(p).Letter())
	}
	return string(b)
}

// maxDrawn bounds the pieces that are drawn, which are then one for each pixel of a page.
// The table has all.
const maxDrawn = 1000

// drawn returns the pieces as they are drawn.
func (r *Request) drawn() []stall.Piece {
	if len(r.Pieces) <= maxDrawn {
		return r.Pieces
	}
	s := r.Span()
	var all []stall.Piece
	for i, p := range r.Cells(maxDrawn) {
		end := s.Start.Add(scale(s.Duration(), i+1, maxDrawn))
		if n := len(all); n > 0 && all[n-1].Part == p {
			all[n-1].End = end
			continue
		}
		all = append(all, stall.Piece{Start: s.Start.Add(scale(s.Duration(), i, maxDrawn)), End: end, Part: p})
	}
	return all
}

// Watched returns when the runtime was watched exactly.
func (r *Request) Watched() []stall.Span {
	var seen []stall.Span
	for _, p := range r.Pieces {
		if p.Part != stall.Unseen {
			seen = append(seen, stall.Span{Start: p.Start, End: p.End})
		}
	}
	return stall.Union(seen)
}
