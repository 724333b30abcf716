package watch

import (
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// gap takes a gap of probe i.
func (w *Watch) gap(i int, g jitterprobe.Gap) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.beside.all {
		w.beside.machine.add(i, g)
	}
	w.tell(g)
}

// tell writes g on the board. The caller holds w.mu.
func (w *Watch) tell(g jitterprobe.Gap) {
	if w.board != nil && g.Cause.IsHost() {
		// A stop of this process says nothing to others, but that nobody
		// watched meanwhile; and one of its runtime not even that.
		if g.Scope == stall.ScopeProcess {
			w.stopped++
			w.stoppedTime += g.Duration()
		} else if err := w.board.Append(g.Interval()); err != nil {
			w.unwritten.Add(1)
		}
	}
	if w.onGap != nil {
		w.onGap(g)
	}
}

// settle moves the watermark. The probe's snapshot is ahead of its OnGap: a
// watermark counts only when all gaps before it have been told. Of several
// probes the one that is furthest behind sets it.
func (w *Watch) settle(s jitterprobe.Snapshot) {
	if w.told.Load() < s.Gaps || !w.beside.look() {
		return
	}
	s.Watermark = w.beside.watermark(s.Watermark)
	w.mu.Lock()
	w.beside.machine.settle(s.Watermark, w.tell)
	dropped, lost := w.stopped+w.unwritten.Load(), w.stoppedTime
	w.mu.Unlock()
	if w.board != nil {
		b := &w.beside.merged
		w.board.Advance(s.Watermark, dropped+s.Dropped+b.Dropped, lost+s.DroppedTime+b.DroppedTime)
	}
	if w.onBeside != nil && len(w.beside.probes) > 0 {
		w.onBeside(w.beside.merged, w.beside.each)
	}
	if w.onTick != nil {
		w.onTick(s)
	}
}
