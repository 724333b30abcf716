package attribution

import (
	"errors"
	"iter"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/collector/internal/services"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// Attributor joins spans with events. It is made by [New]; its methods are safe
// for concurrent use, and joins run beside Learn and Hold. It has no goroutine
// that outlives a call: time passes by [Attributor.Tick].
type Attributor struct {
	config Config

	mu      sync.Mutex // of what follows; held for one event, or few look-ups
	known   registry
	lost    lost
	scratch []stall.Interval

	budget *budget.Budget // has a lock of its own, and so have the next two
	held   queue
	sums   *services.Sums

	releasing sync.Mutex // one release at a time
	joiners   []*joiner
}

// New makes an Attributor.
func New(c Config) *Attributor {
	c = c.withDefaults()
	b := &budget.Budget{MaxBytes: c.MaxBytes, MaxSpans: c.MaxSpans}
	a := &Attributor{config: c, budget: b, sums: services.New(c.MaxServices, b)}
	a.lost.events = make(map[string]uint64)
	a.known.init(c, &a.lost, b)
	return a
}

// Learn takes in the events among the records. Records of others are left alone;
// ld is not changed.
func (a *Attributor) Learn(ld plog.Logs) {
	// A status says that everything before it was sent, in the same request at the
	// latest. A processor that sorts records by scope may have put it in front, so
	// statuses are read last.
	a.learnAll(ld, false)
	a.learnAll(ld, true)
}

func (a *Attributor) learnAll(ld plog.Logs, statuses bool) {
	for _, rl := range ld.ResourceLogs().All() {
		of := wire.Resource{Attributes: rl.Resource().Attributes(), Stamps: a.config.Probes == ProbesStamped}
		for _, sl := range rl.ScopeLogs().All() {
			for _, r := range sl.LogRecords().All() {
				if (r.EventName() == semconv.EventSourceStatus) == statuses {
					a.learn(r, &of)
				}
			}
		}
	}
}

func (a *Attributor) learn(r plog.LogRecord, of *wire.Resource) {
	e, ours, err := wire.ParseEvent(r, of)
	if !ours {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err == nil {
		err = a.take(&e)
	}
	if err != nil {
		a.lost.events[err.Error()]++
	}
}

func (a *Attributor) take(e *wire.Event) error {
	foreign := e.Speaks() && !a.known.speaksForHost(&e.Sender)
	e.Sender.Boot = a.known.epoch(&e.Sender)
	if foreign && (e.Origin == stall.TargetWatch || e.Sender.PID == 0) {
		return a.known.unstamped(e.Sender.Boot)
	}
	if e.Traced != nil {
		return a.known.trace(e)
	}
	h, p, l, c := a.known.of(e)
	if l == nil {
		return errRoom
	}
	overtaken := false
	for _, v := range e.Intervals {
		if !c.Expect(v.Start, a.known.clock) {
			return errTime
		}
		if !l.Keep(v, &a.scratch) {
			a.lost.duplicates++
			continue
		}
		overtaken = overtaken || v.End < l.Watermark()
	}
	switch e.Name {
	case semconv.EventSourceStatus:
		if err := a.certify(e, h, p, l, c); err != nil {
			return err
		}
	case semconv.EventCollection:
		if p != nil {
			p.pauses.Note(e)
		}
	}
	switch {
	case foreign && !p.inside():
		return a.known.unstamped(h.boot)
	case overtaken:
		return errLate
	}
	return nil
}

// certify takes what a status says of its source, unless its time cannot be. The
// process is nil for a probe that speaks for its host.
func (a *Attributor) certify(e *wire.Event, h *host, p *process, l *senders.Log, c *senders.Clocks) error {
	clock, first := a.known.clock, c.Now == 0
	if l.Relate(e.Status.Wall.Offset); p == nil && h.disputes(&e.Sender, l, clock) {
		a.known.split(h)
		return errTime
	}
	ok, wrong := c.Report(&e.Status, clock, senders.SilentAfter+stall.Instant(a.config.Wait))
	if wrong {
		a.known.forgetSender(h, p, l)
	}
	if !ok {
		return errTime
	}
	if h.disagrees(c, e.Status.Wall) {
		a.lost.disagreements++
	}
	one := c.Relate(e.Status.Wall)
	one = l.Learn(&e.Status, stall.Instant(a.config.Wait)) && one
	if p == nil {
		return nil
	}
	if first {
		a.known.changed(p) // a span that was found for it may have begun after its end
	}
	a.learnProcess(p, e)
	if !one && !p.id.Stamped {
		c.Dispute(clock)
		a.known.changed(p)
		return errConflict
	}
	return nil
}

// learnProcess takes what a status says of its process.
func (a *Attributor) learnProcess(p *process, e *wire.Event) {
	if e.TargetPID != 0 && p.outer != e.TargetPID {
		p.outer = e.TargetPID
		a.known.changed(p)
	}
	p.move(e.Status.Cgroups, &a.known.memory)
}

// Metrics yields the sums of requests since start, or since their service was first
// seen, as cumulative counters, by service. The caller owns what is yielded. Instance
// keeps apart Collectors that count spans of the same services, so that each series has
// one writer.
func (a *Attributor) Metrics(start, now time.Time, instance string) iter.Seq[pmetric.Metrics] {
	return a.sums.Metrics(start, now, instance, scopeName)
}

// Wait returns for how long spans are held at most.
func (a *Attributor) Wait() time.Duration { return a.config.Wait }

// Held returns how many spans are held, and about how many bytes they take.
func (a *Attributor) Held() (spans, bytes int) {
	spans, bytes, _, _ = a.budget.Sizes()
	return spans, bytes
}

// Known returns about how many bytes is kept of hosts, processes and services.
func (a *Attributor) Known() (bytes int) {
	_, _, known, summed := a.budget.Sizes()
	return known + summed
}

// Tick releases what is due. The owner calls it some times a second. Sinks are
// called from several goroutines at once, and not any more when it returns.
func (a *Attributor) Tick(now time.Time) {
	a.mu.Lock()
	a.known.tick(now)
	a.mu.Unlock()
	a.sums.Tick(now)
	a.release(now, false)
}

// Flush releases everything, with what is known: when it returns nothing is
// held but what came meanwhile, and no sink is being called.
func (a *Attributor) Flush() { a.release(time.Time{}, true) }

// Why an event was not taken, or not in time. Each is a value of error.type.
var (
	errTime     = semconv.ErrTime
	errRoom     = errors.New("limit")      // no room for one more source, or for the stalls of one
	errStamp    = errors.New("unstamped")  // it speaks for a host, which it may not: a probe's is kept for its own process
	errSpoken   = errors.New("superseded") // the same, where a stamped probe speaks for the host
	errConflict = errors.New("conflict")   // two senders have the same name: the event is kept, and spans of that name are of neither
	errLate     = errors.New("late")       // behind the watermark of its source: it is kept, but spans may have gone on without it
)

// Lost counts what was not kept or not attributed, since New.
type Lost struct {
	// Events by why they were not taken: no_identity, time, cause, limit; or
	// late: taken, for the spans that still wait. Unstamped are those that speak for
	// a host, or for another process, without the stamp that Config.Probes asks for;
	// a probe's are taken for its own process, and do not count where otelgc is in it.
	// Superseded are the same of a host for which a stamped probe speaks.
	// Conflict are statuses that show that
	// two senders report as one process, and traced requests of one with otelgc in it, which
	// are not taken. Limit is of those of a source
	// that found no room, and of stalls that had to go for others of their
	// source while a span that waits might want them.
	Events map[string]uint64
	// Duplicates are events that were there already: they count once.
	Duplicates uint64
	// Disagreements are statuses whose wall clock cannot be the one that another
	// sender of the same host reported last: one of the two is wrong, or the clock was
	// set between them.
	Disagreements uint64
	// SpansOverLimit went on unattributed for want of room.
	SpansOverLimit uint64
	// SpansTimedOut were attributed with what was known when Wait was over.
	SpansTimedOut uint64
	// SpansUnknown are of processes that were not watched: coverage 0.
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
	// no more room, or reported times that cannot be.
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
	traced                                         senders.Tally
}

// Traced counts what became of the traced requests of unmodified processes, since New.
type Traced struct {
	Joined    uint64 // given to the span that they are of
	Ambiguous uint64 // to none: more than one span fitted, or the span fitted more of them
	Unmatched uint64 // to none, since none fitted while it was waited for
	Limit     uint64 // to none, for want of room
}

// Traced returns what became of traced requests so far.
func (a *Attributor) Traced() Traced {
	t := &a.lost.traced
	return Traced{t.Joined.Load(), t.Ambiguous.Load(), t.Unmatched.Load(), t.Limit.Load()}
}

// Lost returns what was lost so far.
func (a *Attributor) Lost() Lost {
	services := a.sums.Forgotten()
	a.mu.Lock()
	defer a.mu.Unlock()
	l := &a.lost
	events := maps.Clone(l.events)
	if n := a.known.memory.Crowded; n > 0 {
		events[errRoom.Error()] += n
	}
	return Lost{
		Events: events, Duplicates: l.duplicates, Disagreements: l.disagreements,
		HostsForgotten: l.hostsForgotten, ProcessesForgotten: l.processesForgotten, ServicesForgotten: services,
		SpansOverLimit: l.overLimit.Load(), SpansTimedOut: l.timedOut.Load(),
		SpansUnknown: l.unknown.Load(), SpansAmbiguous: l.ambiguous.Load(),
		SpansDisbelieved: l.disbelieved.Load(), SpansTime: l.odd.Load(),
	}
}
