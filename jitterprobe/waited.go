package jitterprobe

import (
	"cmp"
	"slices"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/kernel"
	"github.com/otelgc/otelgc/stall"
)

// batch is what a drain knows beside its gaps.
type batch struct {
	watermark stall.Instant
	late      time.Duration // sum of lateness that was no gap, since the start; of Periodic
	looks     uint64        // since the start; of Periodic wake-ups
	drops     uint64        // since the start
}

// waited decides by sums where there is no record of each switch: the kernel
// counts how often, and for how long in all, a thread waited for its CPU.
type waited struct {
	root     string
	tid      int
	periodic bool
	last     kernel.Waits
	batch    batch
	blocked  bool // the thread gave up its CPU in the last batch
	gaps     []*Gap
}

func newWaited(root string, s suspect) waited {
	w := waited{root: root, tid: s.tid, periodic: s.mode == Periodic}
	if w.tid == 0 {
		return w
	}
	last, err := kernel.ReadWaits(root, s.tid)
	if err != nil {
		w.tid = 0
	}
	w.last = last
	return w
}

// settle gives host.preempted to the gaps of a batch for which the sums leave no
// other explanation.
func (w *waited) settle(gaps []Gap, b batch) {
	if w.tid == 0 || len(gaps) == 0 {
		return
	}
	now, err := kernel.ReadWaits(w.root, w.tid)
	if err != nil {
		return
	}
	delay, turns := now.Delay-w.last.Delay, now.Turns-w.last.Turns
	blocked, late, drops := now.Blocked != w.last.Blocked, b.late-w.batch.late, b.drops-w.batch.drops
	unsure := drops > 0 || blocked || w.blocked
	faulted := now.Faults != w.last.Faults
	// A thread that was stopped, or that waited for its runtime, gave its CPU
	// up more often than it slept.
	calm := now.Blocked-w.last.Blocked <= b.looks-w.batch.looks && !faulted
	w.last, w.batch, w.blocked = now, b, blocked
	w.gaps = w.gaps[:0]
	for i := range gaps {
		if g := &gaps[i]; !g.Runtime {
			w.gaps = append(w.gaps, g)
		}
	}
	slices.SortFunc(w.gaps, func(a, b *Gap) int { return cmp.Compare(b.Duration(), a.Duration()) })
	switch {
	case w.periodic && drops == 0:
		w.wakeups(delay - late)
		if calm {
			w.timers(delay)
		}
	case w.periodic || unsure:
	case turns == 0 && !faulted:
		w.others()
	case turns <= uint64(len(w.gaps)):
		w.switches(delay, int(turns))
	}
}

// switches: n gaps contain n waits that sum to delay, and each gap is as long
// as its wait or longer. A gap without which no n others are that long is one of
// them, and waited for what the longest others leave.
func (w *waited) switches(delay time.Duration, n int) {
	sum, next := time.Duration(0), time.Duration(0)
	for _, g := range w.gaps[:n] {
		sum += g.Duration()
	}
	if n < len(w.gaps) {
		next = w.gaps[n].Duration()
	}
	for _, g := range w.gaps[:n] {
		d := g.Duration()
		if own := delay - (sum - d); own > next && own <= d && leastShare*own >= d {
			w.call(g, own)
		}
	}
}

// others: where no switch and no fault happened, all gaps are of the machine
// below.
func (w *waited) others() {
	for _, g := range w.gaps {
		if g.Cause == stall.HostUnknown {
			g.call(stall.HostIRQOrSteal, Evidence{Witness: Remainder, Time: g.Duration()})
		}
	}
}

// wakeups: what is left of the delay when every other wake-up is given all that
// it was late is the gap's own.
func (w *waited) wakeups(delay time.Duration) {
	for _, g := range w.gaps {
		delay -= g.Duration()
	}
	for _, g := range w.gaps {
		if own := delay + g.Duration(); 2*own >= g.Duration() {
			w.call(g, min(own, g.Duration()))
		}
	}
}

// timerFrom is the shortest lateness of a timer that no power saving of an idle
// CPU explains.
const timerFrom = time.Millisecond

// timers: where all wake-ups together waited for next to nothing, a gap is the
// timer's: the CPU did not take its interrupt.
func (w *waited) timers(delay time.Duration) {
	for _, g := range w.gaps {
		if d := g.Duration(); g.Cause == stall.HostUnknown && d >= timerFrom && leastShare*delay <= d {
			g.call(stall.HostIRQOrSteal, Evidence{Witness: LateTimer, Time: d})
		}
	}
}

func (w *waited) call(g *Gap, d time.Duration) {
	if g.Cause == stall.HostUnknown {
		g.call(stall.HostPreempted, Evidence{Witness: RunDelay, Time: d})
	}
}
