package stall

import (
	"math"
	"slices"
	"sort"
	"sync"
	"time"
)

// Log keeps what one source saw of late: the youngest intervals, how far the
// source has got (its watermark), and what it did not see.
//
// A log begins at the instant of [Log.Begin], or of the first [Log.Advance] if
// Begin was not called: nothing before it counts as seen. Where a log begins, or
// up to where it had to forget, is its floor.
//
// One goroutine may write while any number read. No method allocates but to
// grow the slice that the caller gave, and [Log.Resize].
type Log struct {
	source Origin

	mu        sync.Mutex
	ring      []kept // sorted by Start from the oldest on, wrapping
	oldest    int    // index in ring
	n         int
	maxSlack  time.Duration
	begun     bool
	floor     Instant
	watermark Instant
	unseen    spanSet
	dropped   uint64
	lost      time.Duration
}

// kept is an interval of the ring. Until is at least the greatest end of reach
// of this interval and all older ones; it never falls from one to the next, so
// that a reader can search for the first that matters.
type kept struct {
	Interval
	until Instant
}

// NewLog returns a log with room for so many intervals and so many spans of
// unseen time, at least one of each. With NoOrigin, as for a board whose writer
// may change, each interval keeps its own source.
func NewLog(source Origin, intervals, unseen int) *Log {
	return &Log{
		source: source,
		ring:   make([]kept, max(1, intervals)),
		unseen: newSpanSet(max(1, unseen)),
		floor:  math.MinInt64,
	}
}

// Origin returns the origin of the intervals.
func (l *Log) Origin() Origin { return l.source }

// Begin says that the source watches from t on. On a log that has begun before,
// the time from its watermark to t counts as unseen.
func (l *Log) Begin(t Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun {
		l.unseen.add(Span{l.watermark, t}, l.floor)
		l.watermark = max(l.watermark, t)
		return
	}
	l.begun, l.watermark = true, t
	l.floor = max(l.floor, t)
}

// Advance says that the source has seen everything before t, but for the spans
// given to [Log.MarkUnseen]. The watermark never falls. A zero t, which is not
// known, is ignored.
func (l *Log) Advance(t Instant) {
	if t == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		l.begun, l.watermark = true, t
		l.floor = max(l.floor, t)
	}
	l.watermark = max(l.watermark, t)
}

// Watermark returns the instant before which everything was seen; zero if the
// log has not begun.
func (l *Log) Watermark() Instant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.watermark
}

// Floor returns the instant before which nothing counts as seen: where the log
// begins, or up to where it had to forget.
func (l *Log) Floor() Instant {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.floor
}

// Dropped returns how many intervals came too late to be kept, and their
// durations. Intervals that were kept and forgotten later do not count.
func (l *Log) Dropped() (count uint64, total time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dropped, l.lost
}

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

// Size returns how many intervals are kept, and for how many there is room.
func (l *Log) Size() (kept, room int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n, len(l.ring)
}

// Resize makes room for so many intervals, at least one, and allocates once for
// it. What finds no room any more is forgotten, from the oldest on, as by
// [Log.Add]. So a log that belongs to many may begin small and take memory as it
// comes to need it; a log that is not resized has all its memory from the start.
func (l *Log) Resize(intervals int) {
	ring := make([]kept, max(1, intervals)) // readers need not wait for the memory
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.n > len(ring) {
		l.forgetOldest()
	}
	l.maxSlack = 0
	until := Instant(math.MinInt64)
	for i := range l.n {
		v := l.at(i).Interval
		l.maxSlack = max(l.maxSlack, v.slack())
		until = max(until, v.reach().End)
		ring[i] = kept{v, until}
	}
	l.ring, l.oldest = ring, 0
}

// Forget says that the time before t is not needed any more: it
// forgets intervals from the oldest on, up to the first that may reach beyond t.
// The floor rises to the end of what is forgotten, and stays where nothing is.
func (l *Log) Forget(t Instant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.n > 0 && l.at(0).reach().End <= t {
		l.forgetOldest()
	}
}

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
