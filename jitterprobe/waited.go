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

func newWaited(root string, s suspect) waited {
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
