package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// hostSide puts on the board, and exports, what the machine does to the threads of one
// process. A nil hostSide does nothing.
type hostSide struct {
	log       *slog.Logger
	process   *hostwatch.Watch
	board     *watch.Watch
	telemetry *telemetry.Telemetry
	record    func(recording.Record) // nil: nothing is recorded
	clock     stall.Clock
	over      chan struct{} // closed when the watch has ended and all of it was read

	// Of run, and after it of stop:
	unseen  []stall.Span // since the last status
	status  stall.Instant
	at      stall.Instant    // end of the last batch
	counted hostcount.Totals // what the instruments have counted
	totals  hostcount.Totals
}

// startHostSide watches the process pid, unless it is 0, and calls record once a second,
// unless that is nil.
func startHostSide(pid int, log *slog.Logger, clock stall.Clock, board *watch.Watch, t *telemetry.Telemetry, record func(recording.Record)) (*hostSide, error) {
	if pid == 0 {
		return nil, nil
	}
	p, err := hostwatch.New(hostwatch.Options{PID: pid, Clock: clock})
	if errors.Is(err, hostwatch.ErrTarget) {
		return nil, wrong("--target %d: %w", pid, err)
	}
	if err != nil {
		return nil, fmt.Errorf("watch target: %w", err)
	}
	h := &hostSide{log: log, process: p, board: board, telemetry: t, record: record, clock: clock, over: make(chan struct{})}
	go h.run()
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
	return h.process
}

// run reads the watch until it has ended. It ends with the target: a process that replaces
// the target is not watched.
func (h *hostSide) run() {
	defer close(h.over)
	for {
		b, err := h.process.Next(context.Background())
		if err != nil {
			break // io.EOF
		}
		h.take(&b, h.process.Observations())
	}
	if err := h.process.Close(); !errors.Is(err, hostwatch.ErrTarget) {
		return // it was stopped
	}
	h.log.Warn("the target has ended: neither its threads nor those of a process that replaces it are watched", "pid", h.process.Owner().PID, "hint", "run with --target and the new PID")
	if now := h.clock.Now(); h.at != 0 && now > h.at {
		h.unseen = append(h.unseen, stall.Span{Start: h.at, End: now})
		h.report(now)
	}
	h.telemetry.Coverage(stall.TargetWatch, 0)
}

// take exports a batch, and writes it on the board.
func (h *hostSide) take(b *source.Batch, o *hostwatch.Observations) {
	h.board.Watched(h.process.Owner(), o)
	for _, v := range b.Intervals {
		h.telemetry.Gap(v, func() string { return evidenceOf(&v) })
	}
	first := h.status == 0
	if first {
		h.status = o.Span.Start
	}
	h.unseen = append(h.unseen, b.Unseen...)
	h.totals, h.at = o.Totals, o.Span.End
	if first && o.Totals.Throttled.IsZero() {
		h.log.Warn("the target's throttling cannot be seen: its cgroup is not below the one that is mounted here", "pid", h.process.Owner().PID)
	}
	if first && h.record != nil {
		h.record(h.seen()) // what a report counts from
	}
	if h.at.Sub(h.status) >= statusEvery {
		h.report(h.at)
	}
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
		Dropped: now.Dropped, TargetPID: int(h.process.Owner().PID),
	})
	if h.record != nil {
		h.record(h.seen())
	}
	h.counted, h.status, h.unseen = *now, upTo, h.unseen[:0]
}

// abandon ends the watch, and reports nothing.
func (h *hostSide) abandon() {
	if h != nil {
		_ = h.process.Close() // what is wrong with it is no news
		<-h.over
	}
}

// stop ends the watch and logs what it saw.
func (h *hostSide) stop() {
	if h == nil {
		return
	}
	err := h.process.Close()
	<-h.over
	if err != nil && !errors.Is(err, hostwatch.ErrTarget) {
		h.log.Warn("the watch of the target did not end in good order", "error", err)
	}
	if h.at > h.status {
		h.report(h.at)
	}
	h.log.Info("what the machine did to the target", hostFacts(h.seen())...)
}

// hostFacts returns what is logged of v at the end, in the words of the report; target_host
// of run --json has all of it. How long threads were held up is known only if they were
// followed.
func hostFacts(v recording.Host) []any {
	facts := []any{"pid", v.PID}
	if v.Followed {
		facts = append(facts, "held_up", textfmt.Length(v.Denied), "paging", textfmt.Length(v.Paged), "not_decided", textfmt.Length(v.Mixed))
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
	return recording.Host{PID: int(h.process.Owner().PID), Followed: followed, At: h.at, Totals: h.totals}
}
