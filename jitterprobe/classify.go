package jitterprobe

import (
	"runtime/metrics"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// classifier looks for evidence of the causes of gaps. It belongs to the drain
// goroutine, and works in batches: what happened is on record, so the probe's
// thread is never asked.
type classifier struct {
	throttled throttled
	realtime  realtime
	slept     slept
	view      *kernel.View
	seen      bool // records of the thread are kept
	runtime   bool // the thread is one of the runtime's
	stops     *stops
	waited    waited
	behind    behind
	limits    []Limit
}

// candidate is the probe whose gaps are classified.
type candidate struct {
	mode Mode
	cpu  int
	tid  int // 0 if the probe has no thread of its own
}

func newClassifier(root string, s candidate, o Options) *classifier {
	c := &classifier{view: &kernel.View{}, runtime: s.mode == Runtime}
	var cgroups error
	c.throttled, cgroups = newThrottled(root, o.Clock)
	c.realtime = newRealtime(root, s.tid)
	c.slept = newSlept()
	c.waited = newWaited(root, s)
	var rights kernel.Rights
	if s.mode == Spin || s.mode == Runtime {
		c.view, rights = kernel.Open(s.tid, s.cpu, o.Interrupts, o.Clock)
		c.seen = rights.Thread == nil
	}
	if c.runtime {
		c.stops = newStops()
	}
	c.limits = limits(s.mode, o, cgroups, rights)
	return c
}

func (c *classifier) close() {
	c.waited.close()
	_ = c.view.Close() // nothing to be done about it
}

// every returns the time between two batches. Inside a service, what rules
// the machine out is a sum, too: that the world was stopped since the last batch.
func (c *classifier) every() time.Duration {
	if c.seen && !c.runtime {
		return drainEvery
	}
	return sumsEvery
}

// begin is called before the gaps of a batch are collected from l.
func (c *classifier) begin(l *loop) {
	if !c.seen {
		c.waited.begin(l.looked)
	}
}

// classify finds the causes of the gaps of one batch.
func (c *classifier) classify(gaps []Gap, b batch) {
	c.view.Read()
	c.ruleOut(gaps)
	c.slept.settle(gaps)
	c.throttled.settle(gaps, c.mayBeThrottled)
	for i := range gaps {
		if g := &gaps[i]; g.Evidence.Witness == NoWitness {
			a := c.account(g)
			g.decide(&a)
		}
	}
	if !c.seen {
		c.waited.settle(gaps, b)
	}
	c.realtime.settle(gaps, c.account)
	c.behind.settle(gaps)
	c.view.Forget(b.watermark)
}

// margin is what the stamps of the kernel and ours may differ by, beside the
// slack: both read the same clock, a few instructions apart.
const margin = 200 * time.Nanosecond

// account says where the time of g went.
func (c *classifier) account(g *Gap) kernel.Account {
	m := g.Slack + margin
	return c.view.Account(stall.Span{Start: g.Start.Add(-m), End: g.End.Add(m)})
}

// mayBeThrottled reports whether g was on no CPU for most of the time, and not
// for a stop or a page fault, or that is not known.
func (c *classifier) mayBeThrottled(g *Gap) bool {
	if g.Cause != stall.HostUnknown {
		return false
	}
	a := c.account(g)
	return !a.Thread || 2*(a.Preempted+a.Blocked-a.Stopped-a.InFault) >= g.Duration()
}

// A probe of mode Runtime leaves the Go runtime and comes back to it once in
// 2 us. A gap across either door is the runtime's: a goroutine that leaves while
// the world is being stopped hands its P over and wakes the waiting thread, and
// one that comes back waits for the world to start. Without any stop, too: sysmon
// takes the P of a goroutine that has made nothing but system calls for 10 ms,
// thousands of times a second, and the goroutine looks for another one. But the
// machine does not look at which instruction it takes the CPU away, and some of
// its gaps are across a door by chance.

// stops counts the stops of this process's world.
type stops struct {
	samples [2]metrics.Sample
	counted uint64
}

func newStops() *stops {
	s := &stops{samples: [2]metrics.Sample{{Name: "/sched/pauses/total/gc:seconds"}, {Name: "/sched/pauses/total/other:seconds"}}}
	s.since()
	return s
}

// since reports whether the world was stopped since the last call. It does not
// rule it out where the runtime does not count.
func (s *stops) since() bool {
	metrics.Read(s.samples[:])
	var n uint64
	for i := range s.samples {
		if s.samples[i].Value.Kind() != metrics.KindFloat64Histogram {
			return true
		}
		for _, c := range s.samples[i].Value.Float64Histogram().Counts {
			n += c
		}
	}
	before := s.counted
	s.counted = n
	return n != before
}

// ruleOut takes the gaps off the runtime that the machine made, or that may be
// either's.
func (c *classifier) ruleOut(gaps []Gap) {
	if !c.runtime {
		return
	}
	stopped := c.stops.since()
	for i := range gaps {
		g := &gaps[i]
		if !g.Runtime {
			continue
		}
		a := c.account(g)
		switch g.side(&a, stopped) {
		case ofMachine:
			g.Runtime, g.Evidence = false, Evidence{}
			g.Cause, g.Scope = stall.HostUnknown, stall.ScopeCPU
		case ofEither:
			g.Runtime = false
			g.Cause, g.Scope = stall.HostUnknown, stall.ScopeCPU
		}
	}
}

// side is the owner of a gap across a door of the runtime.
type side uint8

const (
	ofRuntime side = iota
	ofMachine
	ofEither
)

// side returns the owner of a gap across a door of the runtime. A thread that gave up its
// CPU of its own accord waited for the runtime, if it is not known to have been
// stopped, or to have waited as no thread waits for the runtime. Else the gap is the
// machine's if what the kernel recorded takes up half of it. Of what is left, a stop
// of the world may have had to do with anything; without one, the runtime does
// nothing for long without giving up the CPU, and nothing that the kernel records,
// unless it does give it up: then the wake-up is on record, too.
//
// Where it is not on record whether the thread gave up its CPU, or in what state it
// was, a long gap may be either's, if there was no stop of the world.
func (g *Gap) side(a *kernel.Account, stopped bool) side {
	d, machines := g.Duration(), a.Stopped+a.Waiting+a.InFault
	gave := a.Blocked > 0 && leastShare*a.Blocked >= d
	switch {
	case gave && 2*machines >= a.Blocked:
		return ofMachine
	case (!a.Thread || gave && !a.States) && !stopped && d >= stealFrom:
		return ofEither
	case !a.Thread || gave:
		return ofRuntime
	case 2*(a.Preempted+a.Fault+a.Interrupt) >= d:
		return ofMachine
	}
	byItself := a.Blocked > machines
	if !stopped && (d-a.Blocked >= stealFrom || !byItself && a.Switches+a.Faults+a.Interrupts > 0) {
		return ofMachine
	}
	return ofRuntime
}

// leastShare is the part of a gap that its cause accounts for at least. What
// comes before the switch and after it, the interrupt and the scheduler, was up
// to four fifths of a preempted gap.
const leastShare = 5

// entryCost bounds what an interrupt costs beside what its tracepoints enclose:
// the entry into the kernel and the return, under a hypervisor with exits from
// the virtual machine.
const entryCost = 25 * time.Microsecond

// stealFrom is the shortest stretch that interrupts leave unexplained and that
// is called the hypervisor's nevertheless.
const stealFrom = 100 * time.Microsecond

// decide gives g the first cause whose rule its account meets:
//
//	host.throttled  it could run, and its CPU was idle
//	host.preempted  it could run, and another thread did, for longer than what follows
//	host.suspended  it could not run, outside of page faults: it was stopped
//	host.fault      it had a page fault, for which it may have waited; what the
//	                fault does not account for is entries into the kernel at most
//	host.irq        its CPU served interrupts for a good part of the gap
//	host.steal      and not at all, or for next to nothing of it
//
// What follows on a gap that took the thread off its CPU, without a look in between,
// is that one's (see behind).
//
// Where the records that a rule needs are not complete, it does not apply.
func (g *Gap) decide(a *kernel.Account) {
	if !a.Thread {
		return
	}
	d := g.Duration()
	off := a.Preempted + a.Blocked
	faulted, stopped := offCPU(a)
	switch {
	case g.owes(a.Preempted, a) && a.Preempted >= max(faulted, stopped):
		g.preempted(a)
	case g.owes(stopped, a) && stopped >= faulted:
		g.stopped(stopped, a)
	case a.Faults == 0 && g.owes(a.Waiting, a): // for a hypervisor that has not got its memory, or a freezer
	case a.Faults > 0 && (g.owes(faulted, a) || d-a.Fault-off <= 2*entryCost && a.Interrupt <= faulted+entryCost):
		g.call(stall.HostFault, faults(faulted, a))
	case !a.CPU:
		g.call(stall.HostIRQOrSteal, Evidence{Witness: Remainder, Time: d - off - a.Fault, Count: int32(a.Switches + a.Faults)})
	default:
		g.interrupted(a)
	}
}

// owes reports whether g is due to what took part of it: that is a good share, and
// what else there is, is less, or what comes along with any switch and fault.
func (g *Gap) owes(part time.Duration, a *kernel.Account) bool {
	d := g.Duration()
	rest := d - a.Preempted - a.Blocked - a.Fault - a.Interrupt
	other := max(rest, a.Interrupt)
	return leastShare*part >= d && (other < stealFrom || other <= part)
}

// offCPU divides the time in which the thread could not run between its page faults
// and what stopped it. It waits for them behind them, too, if a limit on its memory
// says so.
func offCPU(a *kernel.Account) (faulted, stopped time.Duration) {
	faulted, stopped = a.Fault+a.InFault, a.Blocked-a.InFault-a.Waiting
	if a.Faults > 0 {
		faulted += a.Waiting
	}
	return faulted, stopped
}

func (g *Gap) preempted(a *kernel.Account) {
	if a.Idle {
		g.call(stall.HostThrottled, Evidence{Witness: IdleCPU, Time: a.Preempted})
		return
	}
	g.call(stall.HostPreempted, Evidence{Witness: SwitchRecord, Time: a.Preempted, Count: int32(a.Switches), TID: a.Next, Name: a.NextName, Moved: a.Moved})
}

// stopped decides a gap in which the thread could not run for d, and no page fault
// lasted that long. It had one nevertheless, and it is not known in what state it
// was: then it may have been for that.
func (g *Gap) stopped(d time.Duration, a *kernel.Account) {
	if a.Faults > 0 && !a.States {
		return
	}
	g.call(stall.HostSuspended, Evidence{Witness: StopRecord, Time: d})
	g.Scope = stall.ScopeProcess
}

// interrupted separates interrupts from the hypervisor. All records are complete.
func (g *Gap) interrupted(a *kernel.Account) {
	rest := max(0, g.Duration()-a.Preempted-a.Blocked-a.Fault-a.Interrupt)
	switch {
	case a.Interrupts > 0 && (g.owes(a.Interrupt, a) || rest <= entryCost):
		g.call(stall.HostIRQ, Evidence{Witness: Tracepoint, Time: a.Interrupt, Count: int32(a.Interrupts), Name: a.Longest})
	case a.Interrupts+a.Switches+a.Faults == 0, rest >= stealFrom:
		g.call(stall.HostSteal, Evidence{Witness: Silence, Time: rest})
	default:
		g.call(stall.HostIRQOrSteal, Evidence{Witness: Silence, Time: rest})
	}
}

func (g *Gap) call(c stall.Cause, e Evidence) {
	g.Cause, g.Evidence, g.Scope = c, e, stall.ScopeCPU
}

func faults(d time.Duration, a *kernel.Account) Evidence {
	e := Evidence{Witness: FaultRecord, Time: d, Count: int32(a.Faults)}
	if a.Major > 0 {
		e.Name = "major"
	}
	return e
}

// coldFor is for how long a loop of a few cache lines is slow after its thread has
// its CPU back: 97 in 100 were below 2 us.
const coldFor = 5 * time.Microsecond

// behind is what the gaps before were.
type behind struct {
	end   stall.Instant // of the last one
	back  stall.Instant // of the last one that was not for cold caches; of that, too:
	cause stall.Cause
	scope stall.Scope
	owner stall.Owner
}

// settle gives a gap in which the kernel did nothing to what made the one before, if
// that one took the thread off its CPU and there was not one look in between: then
// the caches are cold, and no hypervisor need have had a part in it. A gap for cold
// caches does not make them cold: those behind it count from the same end.
func (b *behind) settle(gaps []Gap) {
	for i := range gaps {
		g := &gaps[i]
		if !b.explains(g) {
			*b = behind{g.End, g.End, g.Cause, g.Scope, g.Owner}
			continue
		}
		g.call(b.cause, Evidence{Witness: ColdCache, Time: g.Duration()})
		g.Scope, g.Owner = b.scope, b.owner
		b.end = g.End
	}
}

// explains reports whether g is for cold caches.
func (b *behind) explains(g *Gap) bool {
	w := g.Evidence.Witness
	return g.Start == b.end && b.leavesCold() && (w == Silence || w == Remainder) && g.End.Sub(b.back) <= coldFor
}

// leavesCold reports whether the gap took the thread off its CPU.
func (b *behind) leavesCold() bool {
	return b.cause == stall.HostPreempted || b.cause == stall.HostThrottled || b.cause == stall.HostSuspended
}

// sleptFrom is the shortest sleep of the machine, and the shortest gap that is
// asked about one.
const sleptFrom = time.Millisecond

// slept finds the gap in which the machine slept.
type slept struct {
	known time.Duration // CLOCK_BOOTTIME - CLOCK_MONOTONIC at the last look
	ok    bool
}

func newSlept() slept {
	d, ok := kernel.Slept()
	return slept{d, ok}
}

// settle gives host.suspended to the longest gap if the machine slept since the
// last long one. CLOCK_MONOTONIC stands still meanwhile, so the gap is as long
// as what came before and after.
func (s *slept) settle(gaps []Gap) {
	longest := -1
	for i := range gaps {
		if d := gaps[i].Duration(); !gaps[i].Runtime && d >= sleptFrom && (longest < 0 || d > gaps[longest].Duration()) {
			longest = i
		}
	}
	if longest < 0 || !s.ok {
		return
	}
	now, ok := kernel.Slept()
	if !ok {
		return
	}
	if d := now - s.known; d >= sleptFrom {
		g := &gaps[longest]
		g.Cause, g.Scope, g.Evidence = stall.HostSuspended, stall.ScopeMachine, Evidence{Witness: BootClock, Time: d}
	}
	s.known = now
}
