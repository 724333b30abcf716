package blame

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// party is one who can have time: a cause, a group of causes, or what is left
// over. The printed table has a column for each that had any.
type party struct {
	top, head string // the two lines of the column's title
	says      string // in a sentence
	rest      bool   // left over, not a stall
	// atMost says that in fidelity cycle what it is charged with cost the requests
	// that much at most.
	atMost bool
	of     func(t *Tally) time.Duration
}

// loose returns the part of its time that is a bound only, where cycle is the tally
// of what was watched per cycle.
func (p *party) loose(cycle *Tally) time.Duration {
	if !p.atMost {
		return 0
	}
	return p.of(cycle)
}

// bounded reports whether its time is an upper bound: some of it is one, and none that
// may be its is uncertain.
func (p *party) bounded(cycle *Tally) bool {
	return p.loose(cycle) > 0 && cycle.Share.Uncertain == 0
}

func charged(causes ...stall.Cause) func(*Tally) time.Duration {
	return func(t *Tally) time.Duration {
		var sum time.Duration
		for _, c := range causes {
			sum += t.Share.Charged[c]
		}
		return sum
	}
}

// nobody reports whether its time is that of which it is not known whose it is.
func (p *party) nobody() bool { return p.head == "certain" || p.head == "seen" }

// name says who it is in a sentence about s.
func (p *party) name(s *stall.Share) string {
	if p.rest || p.head != "host" {
		return p.says
	}
	return p.says + machineMost(s)
}

// parties lists them in the order of precedence. Together they have all of a
// share's time.
var parties = []party{
	{top: "gc", head: "pause", says: "pauses of the garbage collector", atMost: true, of: charged(stall.GCPause)},
	{top: "gc", head: "assist", says: "marking for the garbage collector (assist)", atMost: true, of: charged(stall.GCAssist)},
	{top: "gc", head: "sweep", says: "sweeping for the garbage collector", atMost: true, of: charged(stall.GCSweep)},
	{top: "gc", head: "wait", says: "waiting for a phase of the garbage collector to end", atMost: true, of: charged(stall.GCWait)},
	{top: "sched", head: "gc", says: "waiting for a CPU while the garbage collector worked (an upper bound)", of: charged(stall.SchedGC)},
	{head: "sched", says: "waiting for a CPU (the Go scheduler)", of: charged(stall.Sched)},
	{top: "run-", head: "time", says: "stops of the runtime that were not for garbage collection", atMost: true, of: charged(stall.RuntimeSuspension, stall.RuntimeUnknown)},
	{head: "host", says: "the machine", of: func(t *Tally) time.Duration { return hosts(&t.Share.Charged) }},
	{head: "queue", says: "the way to the handler and back (queue: a connection, the kernel or a CPU was busy)", of: charged(stall.Queue)},
	{top: "load", head: "gen", says: "the load generator, which is no part of the service (it sent the request late, or read the answer late)", rest: true, of: func(t *Tally) time.Duration { return t.Generator }},
	{head: "app", says: "the program itself", rest: true, of: func(t *Tally) time.Duration { return t.Share.App }},
	{top: "app/", head: "host", says: "the program or the machine (nobody watched which)", rest: true, of: func(t *Tally) time.Duration { return t.Share.AppOrHost }},
	{top: "un-", head: "certain", says: "something that the clocks cannot decide", rest: true, of: func(t *Tally) time.Duration { return t.Share.Uncertain }},
	{top: "un-", head: "seen", says: "something that nobody watched", rest: true, of: func(t *Tally) time.Duration { return t.Share.Unseen }},
}
