package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/sidecar/internal/follow"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

// hostSide tells the services of this host, and exports, what the machine does to the
// threads of one process. A nil hostSide does nothing.
type hostSide struct {
	log       *slog.Logger
	process   *follow.Process
	telemetry *telemetry.Telemetry
	record    func(recording.Record) // nil: nothing is recorded
	clock     stall.Clock
	ready     chan struct{} // closed when process is there
	over      chan struct{} // closed when nobody watches any more

	// Of the goroutine that watches, and of those after it.
	owner   stall.Owner
	unseen  []stall.Span // since the last status
	status  stall.Instant
	at      stall.Instant    // end of the last batch
	counted hostwatch.Totals // what the instruments have counted
	totals  hostwatch.Totals
}

// startHostSide watches the process pid, unless it is 0, and calls record once a second,
// unless that is nil.
func startHostSide(pid int, log *slog.Logger, clock stall.Clock, board *watch.Watch, t *telemetry.Telemetry, record func(recording.Record)) (*hostSide, error) {
	if pid == 0 {
		return nil, nil
	}
	h := &hostSide{log: log, telemetry: t, record: record, clock: clock, ready: make(chan struct{}), over: make(chan struct{})}
	p, err := follow.Start(follow.Options{PID: pid, Clock: clock, Board: board, OnBatch: h.batch})
	if errors.Is(err, hostwatch.ErrTarget) {
		return nil, wrong("--target %d: %w", pid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("watch target: %w", err)
	}
	h.process = p
	close(h.ready)
	go h.await()
	switch ok, why := p.Exact(); {
	case ok:
		log.Info("following the target's threads", "pid", pid)
	case errors.Is(why, fs.ErrPermission):
		log.Warn("the target's threads are counted, not followed", "pid", pid, "why", why, "hint", "add CAP_BPF and CAP_PERFMON")
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

// batch exports what happened since the last one.
func (h *hostSide) batch(owner stall.Owner, b *hostwatch.Observations) {
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
	if first && b.Totals.Throttled.IsZero() {
		h.log.Warn("the target's throttling cannot be seen: its cgroup is not below the one that is mounted here", "pid", owner.PID)
	}
	if first && h.record != nil {
		h.record(h.seen()) // what a report counts from
	}
	if h.at.Sub(h.status) >= statusEvery {
		h.report(h.at)
	}
}

// await waits for the end of the target. From then on nobody follows its threads,
// nor those of the process that is started in its place.
func (h *hostSide) await() {
	defer close(h.over)
	<-h.process.Done()
	if err := h.process.Stop(); !errors.Is(err, hostwatch.ErrTarget) {
		return // we have stopped it
	}
	h.log.Warn("the target has ended: neither its threads nor those of a process that replaces it are watched", "pid", h.process.Owner().PID, "hint", "run with --target and the new PID")
	if now := h.clock.Now(); h.at != 0 && now > h.at {
		h.unseen = append(h.unseen, stall.Span{Start: h.at, End: now})
		h.report(now)
	}
	h.telemetry.Coverage(stall.TargetWatch, 0)
}

// evidenceOf names what decided the cause.
func evidenceOf(v *stall.Interval) string {
	switch v.Cause {
	case stall.HostThrottled:
		return "cpu.stat"
	case stall.HostUnknown:
		return "sched_switch; no cpu.stat"
	case stall.HostFault:
		return "sched_switch, major faults"
	}
	return "sched_switch"
}

// report exports a status of the source up to an instant, and counts what is new.
func (h *hostSide) report(upTo stall.Instant) {
	now, before := &h.totals, &h.counted
	covered := now.Covered - before.Covered
	h.telemetry.Observed(stall.TargetWatch, covered)
	h.telemetry.Coverage(stall.TargetWatch, float64(covered)/float64(max(1, upTo.Sub(h.status))))
	if n := now.Dropped - before.Dropped; n > 0 {
		h.telemetry.Dropped("sched_event", "ring_full", n)
	}
	h.telemetry.Status(semconv.Status{
		Origin: stall.TargetWatch, Since: h.status, At: upTo, Watermark: upTo, Unseen: h.unseen,
		Dropped: now.Dropped, TargetPID: int(h.owner.PID),
	})
	if h.record != nil {
		h.record(h.seen())
	}
	h.counted, h.status, h.unseen = *now, upTo, h.unseen[:0]
}

// abandon ends the watch, and reports nothing.
func (h *hostSide) abandon() {
	if h != nil {
		_ = h.process.Stop() // what is wrong with it is no news
		<-h.over
	}
}

// stop ends the watch and logs what it saw.
func (h *hostSide) stop() {
	if h == nil {
		return
	}
	err := h.process.Stop()
	<-h.over
	if err != nil && !errors.Is(err, hostwatch.ErrTarget) {
		h.log.Warn("the watch of the target did not end in good order", "error", err)
	}
	if h.at > h.status {
		h.report(h.at)
	}
	h.log.Info("what the machine did to the target", hostFacts(h.seen())...)
}

// hostFacts is what the log says of v at the end, in the words of the report:
// target_host of run --json has all of it. How long threads were held up is known only
// if they were followed.
func hostFacts(v recording.Host) []any {
	facts := []any{"pid", v.PID}
	if v.Followed {
		facts = append(facts, "held_up", textfmt.Length(v.Denied), "paging", textfmt.Length(v.Paged), "not_decided", textfmt.Length(v.Undecided))
	} else {
		facts = append(facts, "followed", false, "run_delay_of_all_threads", textfmt.Length(v.RunDelay))
	}
	if d := v.Throttled.Or(0); d > 0 {
		facts = append(facts, "throttled", textfmt.Length(d))
	}
	if v.Stolen > 0 {
		facts = append(facts, "stolen_from_all_cpus", textfmt.Length(v.Stolen))
	}
	if v.MajorFaults > 0 {
		facts = append(facts, "major_faults", v.MajorFaults)
	}
	if v.Dropped > 0 {
		facts = append(facts, "switches_dropped", v.Dropped)
	}
	return facts
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
