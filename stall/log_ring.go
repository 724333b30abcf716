package stall

import (
	"math"
	"sort"
)

// Add keeps v, as an interval of the log's source if it has one. Intervals may come late; an
// empty or reversed one is no stall and is ignored.
//
// When the log is full the oldest interval is forgotten and the floor rises to
// its end: what was known of that time no longer is. If v is older than all that
// are kept, it is v that goes, and that is counted (see [Log.Dropped]).
func (l *Log) Add(v Interval) {
	if v.Span().Empty() {
		return
	}
	if l.source != NoOrigin {
		v.Origin = l.source
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == len(l.ring) {
		if v.Start < l.at(0).Start {
			l.drop(&v)
			return
		}
		l.forgetOldest()
	}
	l.insert(v)
}

// forgetOldest forgets one interval. There is one.
func (l *Log) forgetOldest() {
	l.floor = max(l.floor, l.at(0).reach().End)
	l.oldest = (l.oldest + 1) % len(l.ring)
	l.n--
}

func (l *Log) drop(v *Interval) {
	l.dropped++
	if d := v.Duration(); l.lost <= math.MaxInt64-d {
		l.lost += d
	} else {
		l.lost = math.MaxInt64
	}
	l.floor = max(l.floor, v.reach().End)
}

// insert puts v behind the last interval that does not start after it. There is
// room.
func (l *Log) insert(v Interval) {
	i := l.n
	l.n++
	for ; i > 0 && l.at(i-1).Start > v.Start; i-- {
		*l.at(i) = *l.at(i - 1)
	}
	l.maxSlack = max(l.maxSlack, v.slack())
	until := v.reach().End
	if i > 0 {
		until = max(until, l.at(i-1).until)
	}
	*l.at(i) = kept{v, until}
	for i++; i < l.n && l.at(i).until < until; i++ {
		l.at(i).until = until
	}
}

// at returns the i-th interval, counted from the oldest.
func (l *Log) at(i int) *kept {
	if i += l.oldest; i >= len(l.ring) {
		i -= len(l.ring)
	}
	return &l.ring[i]
}

// Intervals appends to dst the intervals that overlap s, or may under their
// slack, sorted by Start.
func (l *Log) Intervals(dst []Interval, s Span) []Interval {
	if s.Empty() {
		return dst
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	last := s.End.plus(l.maxSlack)
	for i := sort.Search(l.n, func(i int) bool { return l.at(i).until > s.Start }); i < l.n; i++ {
		v := l.at(i)
		if v.Start > last {
			break
		}
		if !v.reach().Clip(s).Empty() {
			dst = append(dst, v.Interval)
		}
	}
	return dst
}
