package stall

import "slices"

// spanSet is a set of instants as disjoint spans, sorted, a gap between any
// two. It holds a fixed number of spans and rather grows one over a gap than
// forget an instant.
type spanSet struct {
	spans []Span // room for one more than the set may hold
}

func newSpanSet(size int) spanSet { return spanSet{make([]Span, 0, size+1)} }

// add puts s into the set. Spans that end before floor may go.
func (u *spanSet) add(s Span, floor Instant) {
	if s.Empty() {
		return
	}
	from, _ := slices.BinarySearchFunc(u.spans, s.Start, func(v Span, t Instant) int {
		if v.End < t {
			return -1
		}
		return 1
	})
	to := from
	for to < len(u.spans) && u.spans[to].Start <= s.End {
		s.Start = min(s.Start, u.spans[to].Start)
		s.End = max(s.End, u.spans[to].End)
		to++
	}
	if from == to {
		u.spans = slices.Insert(u.spans, from, s)
	} else {
		u.spans[from] = s
		u.spans = slices.Delete(u.spans, from+1, to)
	}
	if len(u.spans) == cap(u.spans) {
		u.shrink(floor)
	}
}

// shrink makes room for one span.
func (u *spanSet) shrink(floor Instant) {
	old := 0
	for old < len(u.spans) && u.spans[old].End <= floor {
		old++
	}
	if old > 0 {
		u.spans = u.spans[:copy(u.spans, u.spans[old:])]
		return
	}
	gap := func(i int) uint64 { return uint64(u.spans[i+1].Start) - uint64(u.spans[i].End) }
	closest := 0
	for i := 1; i < len(u.spans)-1; i++ {
		if gap(i) < gap(closest) {
			closest = i
		}
	}
	u.spans[closest].End = u.spans[closest+1].End
	u.spans = slices.Delete(u.spans, closest+1, closest+2)
}

// MarkUnseen says that the source did not see s, be it before the watermark or
// still to come. When there are more spans than the log has room for, the two
// closest become one: the log rather denies having seen the time between them
// than forget that something was not seen.
func (l *Log) MarkUnseen(s Span) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unseen.add(s, l.floor)
}

// Seen appends to dst the parts of s that the source has seen: before the
// watermark, after the floor and not marked unseen. They are sorted and
// disjoint.
func (l *Log) Seen(dst []Span, s Span) []Span {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen(s, func(v Span) { dst = append(dst, v) })
	return dst
}

// Coverage returns the fraction of s that the source has seen, 0 to 1; 1 if s
// is empty.
func (l *Log) Coverage(s Span) float64 {
	if s.Empty() {
		return 1
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Lengths as uint64: those of int64 instants always fit.
	var sum uint64
	l.seen(s, func(v Span) { sum += uint64(v.End) - uint64(v.Start) })
	return float64(sum) / float64(uint64(s.End)-uint64(s.Start))
}

func (l *Log) seen(s Span, yield func(Span)) {
	if !l.begun {
		return
	}
	s = s.Clip(Span{l.floor, l.watermark})
	for _, u := range l.unseen.spans {
		if s.Empty() || u.Start >= s.End {
			break
		}
		if u.End <= s.Start {
			continue
		}
		if u.Start > s.Start {
			yield(Span{s.Start, u.Start})
		}
		s.Start = u.End
	}
	if !s.Empty() {
		yield(s)
	}
}
