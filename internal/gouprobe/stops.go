package gouprobe

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

const (
	// holdBack is how far the watermark stays behind: a stop that takes no longer is
	// known by then.
	holdBack = 200 * time.Millisecond
	// maxPauses bounds those of a collection: mark termination is hardly retried at all.
	maxPauses = 256
)

// record is a stop, as the kernel's program writes it.
type record struct {
	now      int64  // the end of the pause, if the caller has taken it: else zero
	reason   uint64 // of which the lowest byte counts
	start    int64  // when it began to stop the goroutines
	finished int64  // when all were stopped, where the release has it
	end      int64  // of the pause
	lost     uint64 // records that were lost before this one
}

// recordSize is the size of a record in the ring.
const recordSize = 48

// stops makes batches of records. Stops follow one another, and so do their records.
type stops struct {
	release release
	kind    gc.Kind
	local   time.Duration // what the process's time namespace adds to CLOCK_MONOTONIC

	batch    source.Batch
	evidence []string // of the intervals of the batch
	taken    int      // records of the batch

	epoch uint64
	index uint64 // of the last collection that was seen to begin, or to end
	open  bool
	cycle gc.Collection // that runs, if open
	lost  uint64        // as of the last record
	wrong uint64        // records that cannot be
}

// reset begins a batch.
func (s *stops) reset() {
	s.batch = source.Batch{
		Epoch: s.epoch, Intervals: s.batch.Intervals[:0], Collections: s.batch.Collections[:0], Unseen: s.batch.Unseen[:0],
	}
	s.evidence, s.taken = s.evidence[:0], 0
}

// take adds a stop to the batch that was read from the ring before now. It reports
// false if the stop is of another epoch, and belongs in a batch of its own.
func (s *stops) take(r *record, now stall.Instant) bool {
	if r.lost != s.lost {
		if s.cut("records were lost after it"); s.taken > 0 || len(s.batch.Collections) > 0 {
			return false
		}
		s.lost = r.lost
		s.restart()
	}
	s.taken++
	instant := func(t int64) stall.Instant { return stall.Instant(t).Add(-s.local) }
	start, end, reason := instant(r.start), instant(r.end), uint8(r.reason)
	if start <= 0 || end < start || end > now {
		s.wrong++ // the memory of the process is not to be trusted
		return true
	}
	v := stall.Interval{Start: start, End: end, Cause: stall.RuntimeSuspension, Origin: stall.GoUprobe, CPU: -1}
	if isGC(reason) {
		p := gc.Pause{Start: start, End: end, EndMax: end, Phase: phaseOf(reason)}
		if stopped := instant(r.finished); s.release.stopping && start <= stopped && stopped <= end {
			p.Suspend = gc.Known(stopped.Sub(start))
		}
		s.pause(p, r.now != 0)
		v.Cause, v.Ref = stall.GCPause, s.index
	}
	s.batch.Intervals = append(s.batch.Intervals, v)
	s.evidence = append(s.evidence, reasonName(reason))
	return true
}

// pause adds a pause to its collection. Last says that the collection ends with it, if
// it is for mark termination.
func (s *stops) pause(p gc.Pause, last bool) {
	if p.Phase == gc.SweepTermination {
		s.cut("its end was not seen")
		s.begin()
		s.cycle.Start = gc.Known(p.Start)
	} else if !s.open {
		s.begin()
		s.cycle.Incomplete = "its begin was not seen"
	}
	if len(s.cycle.Pauses) < maxPauses {
		s.cycle.Pauses = append(s.cycle.Pauses, p)
	} else {
		s.cycle.Incomplete = "it has too many pauses"
	}
	if p.Phase == gc.MarkTermination && last {
		s.cycle.End = gc.Known(p.End)
		s.emit()
	}
}

// begin begins a collection.
func (s *stops) begin() {
	s.index++
	s.open = true
	s.cycle = gc.Collection{
		Index: s.index, Cycles: 1, Kind: s.kind, Trigger: gc.TriggerUnknown, Origin: stall.GoUprobe, Fidelity: stall.Exact,
	}
}

func (s *stops) emit() {
	s.open = false
	s.batch.Collections = append(s.batch.Collections, s.cycle)
}

// cut ends the collection that runs, if there is one.
func (s *stops) cut(why string) {
	if s.open {
		s.cycle.Incomplete = why
		s.emit()
	}
}

// restart begins an epoch at the beginning of a batch: records were lost.
func (s *stops) restart() {
	s.epoch++
	s.index, s.batch.Epoch = 0, s.epoch
}
