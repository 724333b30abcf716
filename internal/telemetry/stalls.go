package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/stall"
)

var (
	suspensionDuration = Metric{
		stall.MetricSuspensionDuration, Histogram, "s", []string{stall.AttrReason},
		"Stop-the-world that was not for garbage collection.",
	}
	gapDuration = Metric{
		stall.MetricGapDuration, Histogram, "s", []string{stall.AttrCause, stall.AttrScope, stall.AttrMode, stall.AttrCPU},
		"Stretches in which a probe did not run. The CPU is opt-in.",
	}
	observedTime = Metric{
		stall.MetricObservedTime, Counter, "s", []string{stall.AttrMode},
		"Time that a probe watched: the denominator, without which no gap proves nothing.",
	}

	stallMetrics = []Metric{suspensionDuration, gapDuration, observedTime}

	suspensionEvent = Event{
		stall.EventSuspension,
		[]string{stall.AttrReason, stall.AttrCodeFunction, stall.AttrFidelity},
		"One stop-the-world that was not for garbage collection.",
	}
	gapEvent = Event{
		stall.EventGap,
		[]string{
			stall.AttrCause, stall.AttrScope, stall.AttrMode, stall.AttrCPU, stall.AttrEvidence,
			stall.AttrCgroupID, stall.AttrTargetPID, stall.AttrTargetCreated,
		},
		"One stretch in which a probe did not run: those over the threshold, and the longest of each second.",
	}
)

type gapSeries struct {
	cause stall.Cause
	scope stall.Scope
	mode  stall.Source
	cpu   int32 // -1 for none
}

type stallInstruments struct {
	suspension, gap metric.Float64Histogram
	observed        metric.Float64Counter

	byReason *series[string]
	byCause  *series[gapSeries]
	byMode   *series[stall.Source]
}

func newStallInstruments(m *maker) stallInstruments {
	return stallInstruments{
		suspension: m.durations(suspensionDuration),
		gap:        m.durations(gapDuration),
		observed:   m.seconds(observedTime),
		byReason: newSeries(func(reason string) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String(stall.AttrReason, reason)}
		}),
		byCause: newSeries(func(k gapSeries) []attribute.KeyValue {
			a := attributes{
				attribute.String(stall.AttrCause, k.cause.String()),
				attribute.String(stall.AttrScope, k.scope.String()),
				attribute.String(stall.AttrMode, GapMode(k.mode)),
			}
			if k.cpu >= 0 {
				a.int(stall.AttrCPU, int64(k.cpu))
			}
			return a
		}),
		byMode: newSeries(func(s stall.Source) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String(stall.AttrMode, GapMode(s))}
		}),
	}
}

// GapMode returns the mode of the probe s: "spin" for probe.spin. A source that
// is no probe is its own mode.
func GapMode(s stall.Source) string { return strings.TrimPrefix(s.String(), "probe.") }

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
	if !t.wanted(ctx, stall.EventSuspension, v.Source, v.Duration()) {
		t.events.blank(v.Source, reachOfStop(&v))
		return
	}
	var a attributes
	a.text(stall.AttrReason, reason)
	a.text(stall.AttrCodeFunction, caller)
	a.text(stall.AttrFidelity, f.String())
	t.events.put(held{name: stall.EventSuspension, class: classRuntime, rank: v.Duration(), v: v, attrs: a, stops: []stall.Span{reachOfStop(&v)}})
}

// Gap records a stretch in which a probe did not run. Evidence is asked what
// decided the cause, empty if nothing did; most gaps are short, and it is not.
func (t *Telemetry) Gap(v stall.Interval, evidence func() string) {
	ctx := context.Background()
	d := v.Duration()
	if t.stalls.gap.Enabled(ctx) {
		k := gapSeries{v.Cause, v.Scope, v.Source, -1}
		if t.o.GapCPU {
			k.cpu = gapCPU(v)
		}
		t.stalls.gap.Record(ctx, d.Seconds(), t.stalls.byCause.record(k)...)
	}
	over := d >= t.o.GapEventThreshold
	// The commonest gap is short and not the longest: the cheap test first.
	if !over && !t.events.longer(v.Source, d) {
		return
	}
	if over && !t.wanted(ctx, stall.EventGap, v.Source, d) || !over && !t.enabled(stall.EventGap, d) {
		return
	}
	class := classGap
	if t.severity(d) >= severityWarn {
		class = classWarn
	}
	t.events.putGap(held{name: stall.EventGap, class: class, rank: d, v: v, evidence: evidence()}, over)
}

// gapAttributes is called when the event goes out, not when the gap was seen:
// most gaps held never do.
func gapAttributes(v stall.Interval, evidence string) []attribute.KeyValue {
	a := make(attributes, 0, 8)
	a.text(stall.AttrCause, v.Cause.String())
	a.text(stall.AttrScope, v.Scope.String())
	a.text(stall.AttrMode, GapMode(v.Source))
	if cpu := gapCPU(v); cpu >= 0 {
		a.int(stall.AttrCPU, int64(cpu))
	}
	a.text(stall.AttrEvidence, evidence)
	if v.Owner.Cgroup != 0 {
		a.int(stall.AttrCgroupID, asInt64(v.Owner.Cgroup))
	}
	if v.Owner.PID != 0 {
		a.int(stall.AttrTargetPID, int64(v.Owner.PID))
		a.int(stall.AttrTargetCreated, asInt64(v.Owner.Created))
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
func (t *Telemetry) Observed(source stall.Source, d time.Duration) {
	ctx := context.Background()
	if d > 0 && t.stalls.observed.Enabled(ctx) {
		t.stalls.observed.Add(ctx, d.Seconds(), t.stalls.byMode.add(source)...)
	}
}
