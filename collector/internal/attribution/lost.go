package attribution

import (
	"errors"
	"maps"
	"sync/atomic"

	"github.com/otelgc/otelgc/semconv"
)

// Why an event was not taken, or not in time. Each is a value of error.type.
var (
	errNoIdentity = errors.New("no_identity") // no boot id, no pid, or no source that is known
	errTime       = semconv.ErrTime
	errRoom       = errors.New("limit")     // no room for one more source, or for the stalls of one
	errStamp      = errors.New("unstamped") // it speaks for a host, which it may not: a probe's is kept for its own process
	errConflict   = errors.New("conflict")  // another sender has the same name: it is kept, and who has the name is nobody
	errLate       = errors.New("late")      // behind the watermark of its source: it is kept, but spans may have gone on without it
)

// Lost counts what was not kept or not attributed, since New.
type Lost struct {
	// Events by why they were not taken: no_identity, time, cause, limit; or
	// late: taken, for the spans that still wait. Unstamped are those that speak for
	// a host, or for another process, without the stamp that Config.Probes asks for;
	// a probe's are taken for its own process, and do not count where otelgc is in it.
	// Conflict are statuses that show that
	// two senders tell as one process. Limit is of those of a source
	// that found no room, and of stalls that had to go for others of their
	// source while a span that waits might want them.
	Events map[string]uint64
	// Duplicates are events that were there already: they count once.
	Duplicates uint64
	// Disagreements are statuses whose wall clock cannot be the one that another
	// sender of the same host told last: one of the two is wrong, or the clock was
	// set between them.
	Disagreements uint64
	// SpansOverLimit went on unattributed for want of room.
	SpansOverLimit uint64
	// SpansTimedOut were attributed with what was known when Wait was over.
	SpansTimedOut uint64
	// SpansUnknown had nobody who watched their process: coverage 0.
	SpansUnknown uint64
	// SpansAmbiguous could be of several processes: they are of none, coverage 0.
	SpansAmbiguous uint64
	// SpansDisbelieved brought shares of more than their length: they were
	// attributed as if they had brought none.
	SpansDisbelieved uint64
	// SpansTime had times that cannot be: they ended before they began, or lasted
	// for more than a week. They have no length and no coverage, and do not count
	// as requests.
	SpansTime uint64
	// HostsForgotten and ProcessesForgotten made way for others when there was
	// no more room, or told times that cannot be.
	HostsForgotten, ProcessesForgotten uint64
	// ServicesForgotten had no request for an hour and made way for others: their
	// series ended.
	ServicesForgotten uint64
}

// lost counts. What is not atomic is guarded by the Attributor's lock.
type lost struct {
	events                                         map[string]uint64
	duplicates, hostsForgotten, processesForgotten uint64
	disagreements                                  uint64
	overLimit, timedOut, unknown, ambiguous        atomic.Uint64
	disbelieved, odd                               atomic.Uint64
}

// Lost returns what was lost so far.
func (a *Attributor) Lost() Lost {
	services := a.sums.gone()
	a.mu.Lock()
	defer a.mu.Unlock()
	l := &a.lost
	return Lost{
		Events: maps.Clone(l.events), Duplicates: l.duplicates, Disagreements: l.disagreements,
		HostsForgotten: l.hostsForgotten, ProcessesForgotten: l.processesForgotten, ServicesForgotten: services,
		SpansOverLimit: l.overLimit.Load(), SpansTimedOut: l.timedOut.Load(),
		SpansUnknown: l.unknown.Load(), SpansAmbiguous: l.ambiguous.Load(),
		SpansDisbelieved: l.disbelieved.Load(), SpansTime: l.odd.Load(),
	}
}
