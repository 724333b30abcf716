package jitterprobe

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// spun decides the gaps of a thread that never sleeps. One that gave up its CPU in
// this batch or the last was stopped, or waited for its runtime.
func (w *waited) spun(b batch) {
	last, now := w.last.after, w.now.after
	blocked := now.Blocked != last.Blocked
	unsure := blocked || w.blocked || b.drops != w.batch.drops || !w.last.fit() || !w.now.fit()
	w.blocked = blocked
	switch turns := now.Turns - last.Turns; {
	case unsure:
	case turns > 0 && turns <= uint64(len(w.gaps)):
		w.switches(now.Delay-last.Delay, int(turns))
	case turns == 0 && now.Faults == last.Faults:
		w.others()
	}
}

// timed decides the gaps of a thread that wakes up by a timer. Wake-ups between the
// two readings may belong to this batch or to the next.
func (w *waited) timed(b batch) {
	if b.drops != w.batch.drops {
		return
	}
	last, now := w.last.after, w.now.after
	w.wakeups(w.now.before.Delay - last.Delay - (b.late - w.batch.late))
	// A thread that was stopped, or that waited for its runtime, gave its CPU
	// up more often than it slept.
	if now.Blocked-last.Blocked <= b.looks-w.batch.looks && now.Faults == last.Faults {
		w.timers(now.Delay - w.last.before.Delay)
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
