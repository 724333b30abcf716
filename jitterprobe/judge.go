package jitterprobe

import (
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// judge looks for evidence of the causes of gaps. It belongs to the drain
// goroutine, and asks in batches: what happened is on record, and the probe's
// thread is not asked at all.
type judge struct {
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

// suspect is what a judge has to know of the probe.
type suspect struct {
	mode Mode
	cpu  int
	tid  int // 0 if the probe has no thread of its own
}

func newJudge(root string, s suspect, o Options) *judge {
	j := &judge{view: &kernel.View{}, runtime: s.mode == Runtime}
	var cgroups error
	j.throttled, cgroups = newThrottled(root, o.Clock)
	j.realtime = newRealtime(root, s.tid)
	j.slept = newSlept()
	j.waited = newWaited(root, s)
	var rights kernel.Rights
	if s.mode == Spin || s.mode == Runtime {
		j.view, rights = kernel.Open(s.tid, s.cpu, o.Interrupts, o.Clock)
		j.seen = rights.Thread == nil
	}
	if j.runtime {
		j.stops = newStops()
	}
	j.limits = limits(s.mode, o, cgroups, rights)
	return j
}

func (j *judge) close() {
	j.waited.close()
	_ = j.view.Close() // nothing to be done about it
}

// every returns the time between two batches. Inside a service, what acquits the
// machine of a gap is a sum, too: that the world was stopped since the last batch.
func (j *judge) every() time.Duration {
	if j.seen && !j.runtime {
		return drainEvery
	}
	return sumsEvery
}

// begin is called before the gaps of a batch are collected from f.
func (j *judge) begin(f *feed) {
	if !j.seen {
		j.waited.begin(f.looked)
	}
}

// settle finds the causes of the gaps of one batch.
func (j *judge) settle(gaps []Gap, b batch) {
	j.view.Read()
	j.acquit(gaps)
	j.slept.settle(gaps)
	j.throttled.settle(gaps, j.mayBeThrottled)
	for i := range gaps {
		if g := &gaps[i]; g.Evidence.Witness == NoWitness {
			a := j.account(g)
			g.decide(&a)
		}
	}
	if !j.seen {
		j.waited.settle(gaps, b)
	}
	j.realtime.settle(gaps, j.account)
	j.behind.settle(gaps)
	j.view.Forget(b.watermark)
}

// margin is what the stamps of the kernel and ours may differ by, beside the
// slack: both read the same clock, a few instructions apart.
const margin = 200 * time.Nanosecond

// account says where the time of g went.
func (j *judge) account(g *Gap) kernel.Account {
	m := g.Slack + margin
	return j.view.Account(stall.Span{Start: g.Start.Add(-m), End: g.End.Add(m)})
}

// mayBeThrottled reports whether g was on no CPU for most of the time, and not
// for a stop or a page fault, or nobody knows.
func (j *judge) mayBeThrottled(g *Gap) bool {
	if g.Cause != stall.HostUnknown {
		return false
	}
	a := j.account(g)
	return !a.Thread || 2*(a.Preempted+a.Blocked-a.Stopped-a.InFault) >= g.Duration()
}
