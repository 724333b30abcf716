package attribution

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

const (
	// firstStalls and mostStalls are for how many stalls of one source there is
	// room, at first and at most: what an otelgc sends in ten seconds at its
	// default limit of events.
	firstStalls = 8
	mostStalls  = 1024
	keptUnseen  = 64
	// keptEarly bounds the semconv.Statuses that came before one that is missing.
	keptEarly = 32
)

// sourceLog is what one source said. Joins may read the log while it
// is written.
type sourceLog struct {
	*stall.Log
	memory   *memory
	bytes    int              // that the account has for it
	reported stall.Instant    // end of the last status of those that follow each other
	heard    stall.Instant    // of the latest status
	early    []semconv.Status // that came before one that is missing, by since
	queued   int              // of bytes, for them
	offset   time.Duration    // of the wall clock, by the last status
	steady   int              // statuses in a row that reported about the same
}

// newSourceLog makes a log for which there is room.
func newSourceLog(s stall.Origin, m *memory) *sourceLog {
	return &sourceLog{Log: stall.NewLog(s, firstStalls, keptUnseen), memory: m, bytes: logBytes}
}

// add keeps a stall. It reports false if it is there already.
func (l *sourceLog) add(v stall.Interval, scratch *[]stall.Interval) bool {
	*scratch = l.Intervals((*scratch)[:0], stall.Span{Start: v.Start, End: v.Start + 1})
	if slices.Contains(*scratch, v) {
		return false
	}
	room := l.makeRoom()
	if l.Add(v); !room && l.Floor() > l.heard-l.memory.wait {
		l.memory.crowded()
	}
	return true
}

// makeRoom makes room for one more stall. It reports false if the oldest has to
// go.
func (l *sourceLog) makeRoom() bool {
	n, room := l.Size()
	if n < room || l.memory.plenty() && l.grow(room) {
		return true
	}
	l.Forget(l.heard - l.memory.back)
	n, _ = l.Size()
	return n < room || l.grow(room)
}

func (l *sourceLog) grow(room int) bool {
	if room >= mostStalls || !l.memory.grow(room*stallBytes) {
		return false
	}
	l.bytes += room * stallBytes
	l.Resize(2 * room)
	return true
}

// giveBack gives back what is not needed any more, if there is not plenty.
func (l *sourceLog) giveBack() {
	n, room := l.Size()
	if n <= firstStalls && room == firstStalls || l.memory.plenty() {
		return
	}
	l.Forget(l.heard - l.memory.back)
	n, room = l.Size()
	half := room / 2
	if half < firstStalls || n > half/2 {
		return
	}
	l.Resize(half)
	l.bytes -= half * stallBytes
	l.memory.forget(half * stallBytes)
}

// learn takes in a status. Each begins where the one before it ended: where one
// is missing the stalls that were sent with it are missing too, so those that
// came before it wait until it comes, or until so much time has passed that it
// will not. Then what it was about is unseen. It reports false for a status that begins
// in the midst of one that was reported: another sender must have reported that.
func (l *sourceLog) learn(s *semconv.Status, patience stall.Instant) bool {
	l.heard = max(l.heard, s.At)
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

// settle takes in the semconv.Statuses that wait, up to the first that has to wait on.
func (l *sourceLog) settle(patience stall.Instant) {
	n := 0
	for ; n < len(l.early); n++ {
		e := &l.early[n]
		follows := l.follows(e)
		if !follows && l.heard-e.Since < patience && len(l.early)-n <= keptEarly {
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
func (l *sourceLog) queue() bool {
	need := 0
	if len(l.early) == 0 {
		l.early = nil
	}
	for i := range l.early {
		need += cap(l.early[i].Unseen) * spanOfBytes
	}
	need += cap(l.early) * statusBytes
	if more := need - l.queued; more <= 0 {
		l.memory.forget(-more)
	} else if !l.memory.grow(more) {
		return false
	}
	l.bytes += need - l.queued
	l.queued = need
	return true
}

// follows reports whether no status before s is missing, as far as one can report.
func (l *sourceLog) follows(s *semconv.Status) bool { return l.reported == 0 || s.Since <= l.reported }

// follow takes in the next status. A source that is heard for the first time has
// seen nothing before its watermark, and a status can say nothing of what comes
// after it.
func (l *sourceLog) follow(s *semconv.Status) {
	for _, u := range s.Unseen {
		l.MarkUnseen(stall.Span{Start: u.Start, End: min(u.End, s.At)})
	}
	l.Advance(s.Watermark)
	l.reported = max(l.reported, s.At)
}
