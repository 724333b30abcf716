// Package senders keeps what each sender of events said: the stalls and statuses of its
// sources, the pauses of its collections, the requests of its traces, and how it relates
// its clock to the wall clock. A sender can say anything: one changes nothing that another
// said.
package senders

import (
	"cmp"
	"slices"
	"time"
	"unsafe"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// MostStalls is for how many stalls of one source there is room at most: what otelgc
// sends in ten seconds at its default limit of events.
const (
	MostStalls  = 1024
	firstStalls = 8 // at first
	keptUnseen  = 64
	keptEarly   = 32 // statuses that came before one that is missing
)

// LogBytes is what a log takes on the heap with its first stalls and its unseen spans.
const (
	LogBytes    = 1408 + firstStalls*stallBytes
	stallBytes  = 64                                   // of stall.Log, an interval
	statusBytes = int(unsafe.Sizeof(semconv.Status{})) // without its cgroups
	spanOfBytes = 16                                   // a stall.Span
)

// Log is what one source said. Joins may read it while it is written.
type Log struct {
	*stall.Log
	memory   *budget.Memory
	Bytes    int              // that the budget counts for it
	reported stall.Instant    // end of the last status of those that follow each other
	Heard    stall.Instant    // of the latest status
	early    []semconv.Status // that came before one that is missing, by since
	queued   int              // of bytes, for them
	offset   time.Duration    // of the wall clock, by the last status
	steady   int              // statuses in a row that reported about the same
}

// NewLog makes a log for which there is room.
func NewLog(s stall.Origin, m *budget.Memory) *Log {
	return &Log{Log: stall.NewLog(s, firstStalls, keptUnseen), memory: m, Bytes: LogBytes}
}

// Keep keeps a stall. It reports false if it is there already.
func (l *Log) Keep(v stall.Interval, scratch *[]stall.Interval) bool {
	*scratch = l.Intervals((*scratch)[:0], stall.Span{Start: v.Start, End: v.Start + 1})
	if slices.Contains(*scratch, v) {
		return false
	}
	room := l.makeRoom()
	if l.Log.Add(v); !room && l.Floor() > l.Heard-l.memory.Wait {
		l.memory.Crowded++
	}
	return true
}

// makeRoom makes room for one more stall. It reports false if the oldest has to
// go.
func (l *Log) makeRoom() bool {
	n, room := l.Size()
	if n < room || l.memory.Plenty() && l.grow(room) {
		return true
	}
	l.Forget(l.Heard - l.memory.Back)
	n, _ = l.Size()
	return n < room || l.grow(room)
}

func (l *Log) grow(room int) bool {
	if room >= MostStalls || !l.memory.Grow(room*stallBytes) {
		return false
	}
	l.Bytes += room * stallBytes
	l.Resize(2 * room)
	return true
}

// giveBack gives back what is not needed any more, if there is not plenty.
func (l *Log) giveBack() {
	n, room := l.Size()
	if n <= firstStalls && room == firstStalls || l.memory.Plenty() {
		return
	}
	l.Forget(l.Heard - l.memory.Back)
	n, room = l.Size()
	half := room / 2
	if half < firstStalls || n > half/2 {
		return
	}
	l.Resize(half)
	l.Bytes -= half * stallBytes
	l.memory.Forget(half * stallBytes)
}

// Learn takes in a status. Each begins where the one before it ended: where one
// is missing the stalls that were sent with it are missing too, so those that
// came before it wait until it comes, or until so much time has passed that it
// will not. Then what it was about is unseen. It reports false for a status that begins
// in the midst of one that was reported: another sender must have reported that.
func (l *Log) Learn(s *semconv.Status, patience stall.Instant) bool {
	l.Heard = max(l.Heard, s.At)
	if len(l.early) == 0 && l.follows(s) {
		one := l.reported == 0 || s.Since == l.reported || s.At <= l.reported
		l.follow(s)
		l.giveBack()
		return one
	}
	at, again := slices.BinarySearchFunc(l.early, s, func(e semconv.Status, s *semconv.Status) int {
		return cmp.Or(cmp.Compare(e.Since, s.Since), cmp.Compare(e.At, s.At))
	})
	if !again {
		l.early = slices.Insert(l.early, at, *s)
		l.early[at].Cgroups = nil // those were taken at once
	}
	for l.settle(patience); !l.queue(); {
		l.settle(0)
	}
	return true
}

// settle takes in the statuses that wait, up to the first that has to wait on.
func (l *Log) settle(patience stall.Instant) {
	n := 0
	for ; n < len(l.early); n++ {
		e := &l.early[n]
		follows := l.follows(e)
		if !follows && l.Heard-e.Since < patience && len(l.early)-n <= keptEarly {
			break
		}
		if !follows {
			l.MarkUnseen(stall.Span{Start: l.Watermark(), End: e.Since})
		}
		l.follow(e)
	}
	l.early = slices.Delete(l.early, 0, n)
}

// queue counts what waits. It reports false if there is no room for that.
func (l *Log) queue() bool {
	need := 0
	if len(l.early) == 0 {
		l.early = nil
	}
	for i := range l.early {
		need += cap(l.early[i].Unseen) * spanOfBytes
	}
	need += cap(l.early) * statusBytes
	if more := need - l.queued; more <= 0 {
		l.memory.Forget(-more)
	} else if !l.memory.Grow(more) {
		return false
	}
	l.Bytes += need - l.queued
	l.queued = need
	return true
}

// follows reports whether no status before s is missing, as far as is known.
func (l *Log) follows(s *semconv.Status) bool { return l.reported == 0 || s.Since <= l.reported }

// follow takes in the next status. A source that is heard for the first time has
// seen nothing before its watermark, and a status can say nothing of what comes
// after it.
func (l *Log) follow(s *semconv.Status) {
	for _, u := range s.Unseen {
		l.MarkUnseen(stall.Span{Start: u.Start, End: min(u.End, s.At)})
	}
	l.Advance(s.Watermark)
	l.reported = max(l.reported, s.At)
}

// Relate counts the statuses in a row that relate the wall clock alike.
func (l *Log) Relate(offset time.Duration) {
	if (offset - l.offset).Abs() > ClocksApart {
		l.steady = 0
	}
	l.offset = offset
	l.steady++
}

// SteadyOffset returns the offset of the wall clock, and whether it was reported alike
// for so long that it is believed.
func (l *Log) SteadyOffset() (time.Duration, bool) { return l.offset, l.steady >= BelieveAfter }
