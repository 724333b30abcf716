package stall

import (
	"math"
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
