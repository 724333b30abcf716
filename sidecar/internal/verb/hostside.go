package verb

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/otelgc/otelgc/internal/hostwatch"
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

	// Of the goroutine that watches.
	owner  stall.Owner
	unseen []stall.Span // since the last status
	status stall.Instant
	at     stall.Instant // end of the last batch
	told   hostwatch.Totals
	totals hostwatch.Totals
}

// startHostSide watches the process pid; 0 is none.
func startHostSide(pid int, log *slog.Logger, clock stall.Clock, board *watch.Watch, t *telemetry.Telemetry) (*hostSide, error) {
	if pid == 0 {
		return nil, nil
	}
	h := &hostSide{log: log, telemetry: t}
	p, err := follow.Start(follow.Options{PID: pid, Clock: clock, Board: board, OnBatch: h.batch})
	if errors.Is(err, hostwatch.ErrTarget) {
		return nil, wrong("--target %d: %w", pid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("watch target: %w", err)
	}
	h.process = p
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
	h.owner = owner
	for _, v := range b.Denied {
		h.telemetry.Gap(v, func() string { return evidenceOf(&v) })
	}
	if h.status == 0 {
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
	h.log.Info("target", "pid", h.process.Owner().PID, "run_delay", t.RunDelay.String(), "denied", t.Denied.String(),
		"paged", t.Paged.String(), "undecided", t.Mixed.String(), "covered", t.Covered.String(),
		"throttled", t.Throttled.String(), "major_faults", t.MajorFaults, "stolen", t.Stolen.String(),
		"pressure", t.Pressure.String(), "events", t.Events, "dropped", t.Dropped)
}

// hostDocument is what the machine did to the target, in ns.
type hostDocument struct {
	PID         int32         `json:"pid"`
	Followed    bool          `json:"followed"` // else what follows is counted, and nothing is covered
	RunDelay    time.Duration `json:"run_delay"`
	Denied      time.Duration `json:"denied"`
	Paged       time.Duration `json:"paged"`
	Undecided   time.Duration `json:"undecided"`
	Covered     time.Duration `json:"covered"`
	Throttled   time.Duration `json:"throttled"`
	MajorFaults uint64        `json:"major_faults"`
	Stolen      time.Duration `json:"stolen"`   // of all CPUs
	Pressure    time.Duration `json:"pressure"` // of the machine
	Dropped     uint64        `json:"dropped"`  // events of the scheduler
}

// document returns what was seen up to the end, nil for no target.
func (h *hostSide) document() *hostDocument {
	if h == nil {
		return nil
	}
	followed, _ := h.process.Exact()
	t := &h.totals
	return &hostDocument{
		h.process.Owner().PID, followed, t.RunDelay, t.Denied, t.Paged, t.Mixed, t.Covered, t.Throttled, t.MajorFaults, t.Stolen, t.Pressure, t.Dropped,
	}
}
