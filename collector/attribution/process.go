package attribution

import (
	"slices"

	"github.com/otelgc/otelgc/stall"
)

const (
	// kept is how many stalls of one source are known at a time: what an
	// otelgc sends in ten seconds at its default limit of events. It is about
	// 80 kB.
	kept       = 1024
	keptUnseen = 64
	// keptPauses is how many pauses are known by their collection.
	keptPauses = 1024
)

// sourceLog is what one source said.
type sourceLog struct {
	*stall.Log
	told stall.Instant // of the last status
}

// logs holds the sources of a process, or the probes of a host.
type logs [stall.NumSources]*sourceLog

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

// learn takes in a status. A source that is heard for the first time has seen
// nothing before it.
func (l *sourceLog) learn(s *status) {
	if l.told == 0 {
		l.Begin(s.watermark)
	}
	for _, u := range s.unseen {
		l.MarkUnseen(u)
	}
	l.Advance(s.watermark)
	l.told = max(l.told, s.at)
}

// process is what is known of one process.
type process struct {
	id      pid
	place   string // the container that it is known by, if any
	runtime logs
	target  *sourceLog // what the machine did to it
	heard   uint64     // order of the last event
	pauses  []pause    // by start, the youngest
}

// pause says which collection a stop was for.
type pause struct {
	stall.Span
	index int64
}

// note keeps the pauses of a collection.
func (p *process) note(stalls []stall.Interval, index int64) {
	for i := range stalls {
		at, found := slices.BinarySearchFunc(p.pauses, stalls[i].Start, func(q pause, t stall.Instant) int { return int(q.Start - t) })
		if found {
			continue
		}
		p.pauses = slices.Insert(p.pauses, at, pause{stalls[i].Span(), index})
	}
	if over := len(p.pauses) - keptPauses; over > 0 {
		p.pauses = slices.Delete(p.pauses, 0, over)
	}
}

// collections returns how many collections stopped the process in s.
func (p *process) collections(s stall.Span) int {
	n, last := 0, int64(-1)
	at, _ := slices.BinarySearchFunc(p.pauses, s.Start-longest, func(q pause, t stall.Instant) int { return int(q.Start - t) })
	for _, q := range p.pauses[at:] {
		if q.Start >= s.End {
			break
		}
		if q.End > s.Start && (q.index == 0 || q.index != last) {
			n, last = n+1, q.index
		}
	}
	return n
}
