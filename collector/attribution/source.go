package attribution

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall"
)

const (
	// kept is how many stalls of one source are known at a time: what an
	// otelgc sends in ten seconds at its default limit of events.
	kept       = 1024
	keptUnseen = 64
	// keptEarly bounds the statuses that came before one that is missing.
	keptEarly = 32
	// logBytes is about what a source takes.
	logBytes = 96 << 10
)

// sourceLog is what one source said. The log may be read by who joins while it
// is written.
type sourceLog struct {
	*stall.Log
	told  stall.Instant // end of the last status of those that follow each other
	heard stall.Instant // of the latest status
	early []status      // that came before one that is missing, by since
}

func newSourceLog(s stall.Source) *sourceLog {
	return &sourceLog{Log: stall.NewLog(s, kept, keptUnseen)}
}

// add keeps a stall. It reports false if it is there already.
func (l *sourceLog) add(v stall.Interval, scratch *[]stall.Interval) bool {
	*scratch = l.Intervals((*scratch)[:0], stall.Span{Start: v.Start, End: v.Start + 1})
	if slices.Contains(*scratch, v) {
		return false
	}
	l.Add(v)
	return true
}

// learn takes in a status. Each begins where the one before it ended: where one
// is missing the stalls that were sent with it are missing too, so those that
// came before it wait until it comes, or until so much time has passed that it
// will not. Then what it was about is unseen.
func (l *sourceLog) learn(s *status, patience stall.Instant) {
	l.heard = max(l.heard, s.at)
	at, again := slices.BinarySearchFunc(l.early, s, func(e status, s *status) int {
		return cmp.Or(cmp.Compare(e.since, s.since), cmp.Compare(e.at, s.at))
	})
	if !again {
		l.early = slices.Insert(l.early, at, *s)
	}
	n := 0
	for ; n < len(l.early); n++ {
		e := &l.early[n]
		follows := l.told == 0 || e.since <= l.told
		if !follows && l.heard-e.since < patience && len(l.early)-n <= keptEarly {
			break
		}
		if !follows {
			l.MarkUnseen(stall.Span{Start: l.Watermark(), End: e.since})
		}
		l.follow(e)
	}
	l.early = slices.Delete(l.early, 0, n)
}

// follow takes in the next status. A source that is heard for the first time has
// seen nothing before it.
func (l *sourceLog) follow(s *status) {
	if l.told == 0 {
		l.Begin(s.watermark)
	}
	for _, u := range s.unseen {
		l.MarkUnseen(u)
	}
	l.Advance(s.watermark)
	l.told = max(l.told, s.at)
}
