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
	file     *kernel.WaitsFile // nil where nothing is counted
	periodic bool
	last     sums
	now      sums
	batch    batch
	blocked  bool // the thread gave up its CPU in the last batch
	gaps     []*Gap
}

// sums are what the kernel counted before the gaps of a batch were collected, and
// after.
type sums struct {
	before, after kernel.Waits
	looked        bool // the thread did, between the first reading and the collection
}

// fit reports whether the sums are those of the gaps collected so far and of no
// other: the thread has looked since the first reading, and got no CPU until the
// second. Else its last wait may be counted already, and the gap of it be of the
// next batch.
func (s *sums) fit() bool { return s.looked && s.before == s.after }

func newWaited(root string, s candidate) waited {
	w := waited{periodic: s.mode == Periodic}
	if s.tid == 0 {
		return w
	}
	file, err := kernel.OpenWaits(root, s.tid)
	if err != nil {
		return w
	}
	first, err := file.Read()
	if err != nil {
		file.Close()
		return w
	}
	w.file, w.last = file, sums{before: first, after: first}
	return w
}

func (w *waited) close() { w.file.Close() }

// begin reads the sums before the gaps of a batch are collected. Looked waits until
// the thread has looked, and reports false if it does not.
func (w *waited) begin(looked func() bool) {
	if w.file == nil {
		return
	}
	before, err := w.file.Read()
	if err != nil {
		w.giveUp()
		return
	}
	w.now = sums{before: before, looked: looked()}
}

// giveUp is for a thread that is gone.
func (w *waited) giveUp() {
	w.file.Close()
	w.file = nil
}

// settle gives host.preempted to the gaps of a batch for which the sums leave no
// other explanation.
func (w *waited) settle(gaps []Gap, b batch) {
	if w.file == nil || len(gaps) == 0 {
		return
	}
	var err error
	if w.now.after, err = w.file.Read(); err != nil {
		w.giveUp()
		return
	}
	w.sort(gaps)
	if w.periodic {
		w.timed(b)
	} else {
		w.spun(b)
	}
	w.last, w.batch = w.now, b
}

// sort takes the gaps, the longest first; those that have a cause, too: some of the
// waits may be theirs.
func (w *waited) sort(gaps []Gap) {
	w.gaps = w.gaps[:0]
	for i := range gaps {
		w.gaps = append(w.gaps, &gaps[i])
	}
	slices.SortFunc(w.gaps, func(a, b *Gap) int { return cmp.Compare(b.Duration(), a.Duration()) })
}

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
