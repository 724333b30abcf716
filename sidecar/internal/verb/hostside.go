package verb

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/sidecar/internal/follow"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

// hostSide tells the services of this host, and who collects, what the machine
// does to the threads of one process. A nil hostSide does nothing.
type hostSide struct {
	log       *slog.Logger
	process   *follow.Process
	telemetry *telemetry.Telemetry
	record    func(recording.Record) // nil: nothing is recorded
	ready     chan struct{}          // closed when process is there

	// Of the goroutine that watches.
	owner  stall.Owner
	unseen []stall.Span // since the last status
	status stall.Instant
	at     stall.Instant // end of the last batch
	told   hostwatch.Totals
	totals hostwatch.Totals
}

// startHostSide watches the process pid, and tells record of it once a second; 0 is
// none, and so is a nil record.
func startHostSide(pid int, log *slog.Logger, clock stall.Clock, board *watch.Watch, t *telemetry.Telemetry, record func(recording.Record)) (*hostSide, error) {
	if pid == 0 {
		return nil, nil
	}
	h := &hostSide{log: log, telemetry: t, record: record, ready: make(chan struct{})}
	p, err := follow.Start(follow.Options{PID: pid, Clock: clock, Board: board, OnBatch: h.batch})
	if errors.Is(err, hostwatch.ErrTarget) {
		return nil, wrong("--target %d: %w", pid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("watch target: %w", err)
	}
	h.process = p
	close(h.ready)
	switch ok, why := p.Exact(); {
	case ok:
		log.Info("following the target's threads", "pid", pid)
	case errors.Is(why, fs.ErrPermission):
		log.Warn("the target's threads are counted, not followed: add CAP_BPF and CAP_PERFMON", "pid", pid, "why", why)
	default:
		log.Warn("the target's threads are counted, not followed", "pid", pid, "why", why)
	}
	return h, nil
}

// followed returns the watch, nil for none.
func (h *hostSide) followed() *hostwatch.Watch {
	if h == nil {
		return nil
	}
	return h.process.Watch
}

// batch tells what happened since the last one.
func (h *hostSide) batch(owner stall.Owner, b *hostwatch.Batch) {
	<-h.ready
	h.owner = owner
	for _, v := range b.Denied {
		h.telemetry.Gap(v, func() string { return evidenceOf(&v) })
	}
	first := h.status == 0
	if first {
		h.status = b.Span.Start
	}
	at := b.Span.Start
	for _, s := range append(b.Covered, stall.Span{Start: b.Span.End, End: b.Span.End}) {
		if s.Start > at {
			h.unseen = append(h.unseen, stall.Span{Start: at, End: s.Start})
		}
		at = s.End
	}
	h.totals, h.at = b.Totals, b.Span.End
	if first && h.record != nil {
		h.record(h.seen()) // what a report counts from
	}
	if h.at.Sub(h.status) >= statusEvery {
		h.tell()
	}
}

// evidenceOf says what decided the cause.
func evidenceOf(v *stall.Interval) string {
	switch v.Cause {
	case stall.HostThrottled:
		return "cpu.stat"
	case stall.HostFault:
		return "sched_switch, major faults"
	}
	return "sched_switch"
}

// tell sends a status of the source.
func (h *hostSide) tell() {
	now, before := &h.totals, &h.told
	covered := now.Covered - before.Covered
	h.telemetry.Observed(stall.TargetWatch, covered)
	h.telemetry.Coverage(stall.TargetWatch, float64(covered)/float64(max(1, h.at.Sub(h.status))))
	if n := now.Dropped - before.Dropped; n > 0 {
		h.telemetry.Dropped("sched_event", "ring_full", n, 0)
	}
	h.telemetry.Status(telemetry.Status{
		Source: stall.TargetWatch, Since: h.status, At: h.at, Watermark: h.at, Unseen: h.unseen,
		Dropped: telemetry.Loss{Count: now.Dropped}, TargetPID: int(h.owner.PID),
	})
	if h.record != nil {
		h.record(h.seen())
	}
	h.told, h.status, h.unseen = *now, h.at, h.unseen[:0]
}

// stop ends the watch and says what it saw.
func (h *hostSide) stop() {
	if h == nil {
		return
	}
	err := h.process.Stop()
	switch {
	case errors.Is(err, hostwatch.ErrTarget):
		h.log.Warn("the target has ended", "pid", h.process.Owner().PID)
	case err != nil:
		h.log.Warn("the watch of the target did not end in good order", "error", err)
	}
	if h.at > h.status {
		h.tell()
	}
	t := &h.totals
	facts := []any{
		"pid", h.process.Owner().PID, "run_delay", t.RunDelay.String(), "denied", t.Denied.String(),
		"paged", t.Paged.String(), "undecided", t.Mixed.String(), "covered", t.Covered.String(),
		"throttled", t.Throttled.String(), "major_faults", t.MajorFaults, "stolen", t.Stolen.String(),
		"machine_waited", sayPressure(t.Pressure),
	}
	if p, known := t.GroupPressure.Get(); known {
		facts = append(facts, "cgroup_waited", sayPressure(p))
	}
	h.log.Info("target", append(facts, "events", t.Events, "dropped", t.Dropped)...)
}

// sayPressure says a pressure in one line.
func sayPressure(p hostcount.Pressure) string {
	return fmt.Sprintf("for a CPU %v, for memory %v, for disks %v", p.CPU, p.Memory, p.IO)
}

// document returns what was seen up to the end, nil for no target.
func (h *hostSide) document() *recording.Host {
	if h == nil {
		return nil
	}
	v := h.seen()
	v.At = 0 // the end of the run
	return &v
}

// seen returns what the machine did to the target so far.
func (h *hostSide) seen() recording.Host {
	followed, _ := h.process.Exact()
	t := &h.totals
	return recording.Host{
		PID: int(h.process.Owner().PID), Followed: followed, At: h.at,
		RunDelay: t.RunDelay, Denied: t.Denied, Paged: t.Paged, Undecided: t.Mixed, Covered: t.Covered,
		Throttled: t.Throttled, MajorFaults: t.MajorFaults, Stolen: t.Stolen,
		Pressure: t.Pressure.CPU, PressureMemory: t.Pressure.Memory, PressureIO: t.Pressure.IO, CgroupPressure: t.GroupPressure,
		Dropped: t.Dropped,
	}
}
