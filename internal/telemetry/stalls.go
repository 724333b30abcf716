package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

var (
	suspensionDuration = Metric{
		semconv.MetricSuspensionDuration, Histogram, "s", []string{semconv.AttrReason},
		"Stop-the-world that was not for garbage collection.",
	}
	gapDuration = Metric{
		semconv.MetricGapDuration, Histogram, "s", []string{semconv.AttrCause, semconv.AttrScope, semconv.AttrMode, semconv.AttrCPU},
		"Stretches in which a probe did not run. The CPU is opt-in.",
	}
	observedTime = Metric{
		semconv.MetricObservedTime, Counter, "s", []string{semconv.AttrMode},
		"Time that a probe watched: the denominator, without which no gap proves nothing.",
	}

	stallMetrics = []Metric{suspensionDuration, gapDuration, observedTime}

	suspensionEvent = Event{
		semconv.EventSuspension,
		[]string{semconv.AttrReason, semconv.AttrCodeFunction, semconv.AttrFidelity},
		"One stop-the-world that was not for garbage collection.",
	}
	gapEvent = Event{
		semconv.EventGap,
		[]string{
			semconv.AttrCause, semconv.AttrScope, semconv.AttrMode, semconv.AttrCPU, semconv.AttrEvidence,
			semconv.AttrCgroupID, semconv.AttrTargetPID, semconv.AttrTargetCreated,
		},
		"One stretch in which a probe did not run: those over the threshold, and the longest of each second.",
	}
)

type gapSeries struct {
	cause stall.Cause
	scope stall.Scope
	mode  stall.Origin
	cpu   int32 // -1 for none
}

type stallInstruments struct {
	suspension, gap metric.Float64Histogram
	observed        metric.Float64Counter

	byReason *series[string]
	byCause  *series[gapSeries]
	byMode   *series[stall.Origin]
}

func newStallInstruments(m *maker) stallInstruments {
	return stallInstruments{
		suspension: m.durations(suspensionDuration),
		gap:        m.durations(gapDuration),
		observed:   m.seconds(observedTime),
		byReason: newSeries(func(reason string) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String(semconv.AttrReason, reason)}
		}),
		byCause: newSeries(func(k gapSeries) []attribute.KeyValue {
			a := attributes{
				attribute.String(semconv.AttrCause, k.cause.String()),
				attribute.String(semconv.AttrScope, k.scope.String()),
				attribute.String(semconv.AttrMode, GapMode(k.mode)),
			}
			if k.cpu >= 0 {
				a.int(semconv.AttrCPU, int64(k.cpu))
			}
			return a
		}),
		byMode: newSeries(func(s stall.Origin) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String(semconv.AttrMode, GapMode(s))}
		}),
	}
}

// GapMode returns the mode of the probe s: "spin" for probe.spin. A source that
// is no probe is its own mode.
func GapMode(s stall.Origin) string { return strings.TrimPrefix(s.String(), "probe.") }

// Suspension records a stop-the-world that was not for garbage collection.
// Caller is the function that asked for it, empty if it is not known.
func (t *Telemetry) Suspension(v stall.Interval, reason, caller string, f stall.Fidelity) {
	ctx := context.Background()
	if reason == "" {
		reason = "unknown"
	}
	if t.stalls.suspension.Enabled(ctx) {
		t.stalls.suspension.Record(ctx, v.Duration().Seconds(), t.stalls.byReason.record(reason)...)
	}
	if !t.wanted(ctx, semconv.EventSuspension, v.Origin, v.Duration()) {
		t.events.blank(v.Origin, reachOfStop(&v))
		return
	}
	var a attributes
	a.text(semconv.AttrReason, reason)
	a.text(semconv.AttrCodeFunction, caller)
	a.text(semconv.AttrFidelity, f.String())
	t.events.put(held{name: semconv.EventSuspension, class: classRuntime, rank: v.Duration(), v: v, attrs: a, stops: []stall.Span{reachOfStop(&v)}})
}

// Gap records a stretch in which a probe did not run. Evidence is asked what
// decided the cause, empty if nothing did; most gaps are short, and it is not.
func (t *Telemetry) Gap(v stall.Interval, evidence func() string) {
	ctx := context.Background()
	d := v.Duration()
	if t.stalls.gap.Enabled(ctx) {
		k := gapSeries{v.Cause, v.Scope, v.Origin, -1}
		if t.o.GapCPU {
			k.cpu = gapCPU(v)
		}
		t.stalls.gap.Record(ctx, d.Seconds(), t.stalls.byCause.record(k)...)
	}
	over := d >= t.o.GapEventThreshold
	// The commonest gap is short and not the longest: the cheap test first.
	if !over && !t.events.longer(v.Origin, d) {
		return
	}
	if over && !t.wanted(ctx, semconv.EventGap, v.Origin, d) || !over && !t.enabled(semconv.EventGap, d) {
		return
	}
	class := classGap
	if t.severity(d) >= severityWarn {
		class = classWarn
	}
	t.events.putGap(held{name: semconv.EventGap, class: class, rank: d, v: v, evidence: evidence()}, over)
}

// gapAttributes is called when the event goes out, not when the gap was seen:
// most gaps held never do.
func gapAttributes(v stall.Interval, evidence string) []attribute.KeyValue {
	a := make(attributes, 0, 8)
	a.text(semconv.AttrCause, v.Cause.String())
	a.text(semconv.AttrScope, v.Scope.String())
	a.text(semconv.AttrMode, GapMode(v.Origin))
	if cpu := gapCPU(v); cpu >= 0 {
		a.int(semconv.AttrCPU, int64(cpu))
	}
	a.text(semconv.AttrEvidence, evidence)
	if v.Owner.Cgroup != 0 {
		a.int(semconv.AttrCgroupID, asInt64(v.Owner.Cgroup))
	}
	if v.Owner.PID != 0 {
		a.int(semconv.AttrTargetPID, int64(v.Owner.PID))
		a.int(semconv.AttrTargetCreated, asInt64(v.Owner.Created))
	}
	return a
}

// gapCPU is the CPU of a gap, -1 if it is of none: CPU 0 of another scope may
// mean that the CPU does not matter.
func gapCPU(v stall.Interval) int32 {
	if v.CPU > 0 || v.Scope == stall.ScopeCPU && v.CPU == 0 {
		return v.CPU
	}
	return -1
}

// Observed adds d to the time that the probe source watched.
func (t *Telemetry) Observed(source stall.Origin, d time.Duration) {
	ctx := context.Background()
	if d > 0 && t.stalls.observed.Enabled(ctx) {
		t.stalls.observed.Add(ctx, d.Seconds(), t.stalls.byMode.add(source)...)
	}
}
