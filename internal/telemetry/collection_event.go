package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// maxEventPauses bounds the pauses that one event names; the rest is counted as
// dropped. A collection of Go has two, rarely three.
const maxEventPauses = 128

const (
	attrCPUAssist    = semconv.AttrCPUPrefix + "assist"
	attrCPUDedicated = semconv.AttrCPUPrefix + "dedicated"
	attrCPUIdle      = semconv.AttrCPUPrefix + "idle"
	attrCPUPause     = semconv.AttrCPUPrefix + "pause"
	attrCPUTotal     = semconv.AttrCPUPrefix + "total"
)

var collectionEvent = Event{
	semconv.EventCollection,
	[]string{
		semconv.AttrGCKind, semconv.AttrGCTrigger, semconv.AttrGCTriggerSite, semconv.AttrGCIndex, semconv.AttrGCCycles,
		semconv.AttrGCGeneration, semconv.AttrGCPromoted, semconv.AttrGCHeapBefore, semconv.AttrGCHeapAfter,
		semconv.AttrGCFragBefore, semconv.AttrGCFragAfter, semconv.AttrGCGoal,
		attrCPUAssist, attrCPUDedicated, attrCPUIdle, attrCPUPause, attrCPUTotal, semconv.AttrPauseUtilization,
		semconv.AttrPauseStart, semconv.AttrPauseEnd, semconv.AttrPauseEndMax, semconv.AttrPauseSuspend,
		semconv.AttrPauseSlack, semconv.AttrPausePhase,
		semconv.AttrGCCompacting, semconv.AttrGCConcurrent, semconv.AttrGCPinned, semconv.AttrGCFinalizable,
		semconv.AttrGCMemoryLoad, semconv.AttrGCAllocated, semconv.AttrGCIncomplete, semconv.AttrGCGenerations,
		attrSizeBefore, attrSizeAfter, attrFragBefore, attrFragAfter, attrPromoted, attrSurvived, attrBudget,
		semconv.AttrHostFaults, semconv.AttrHostRunDelay, semconv.AttrHostThrottled, semconv.AttrHostStolen, semconv.AttrHostOver,
		semconv.AttrHostCPUWait, semconv.AttrHostPageWait,
		attrPauseFaults, attrPauseRunDelay, attrPauseThrottled, attrPauseStolen, attrPauseOver, attrPauseCPUWait, attrPausePageWait,
		semconv.AttrPauseUsual, semconv.AttrSlowedBy,
		semconv.AttrEstimatedFields, semconv.AttrFidelity,
	},
	"One garbage collection as one record. Its severity follows the sum of its pauses, not its length.",
}

// collectionEvent offers the event of c. It ranks by the sum of the pauses: a
// long collection that stopped nobody is no stall.
func (t *Telemetry) collectionEvent(ctx context.Context, c *gc.Collection) {
	stalled := c.PauseTotal()
	if !t.wanted(ctx, semconv.EventCollection, c.Origin, stalled) {
		for i := range c.Pauses {
			t.events.blank(c.Origin, reachOf(&c.Pauses[i]))
		}
		return
	}
	stops := make([]stall.Span, 0, len(c.Pauses))
	for i := range c.Pauses {
		stops = append(stops, reachOf(&c.Pauses[i]))
	}
	start, end := collectionExtent(c)
	t.events.put(held{
		name: semconv.EventCollection, class: classRuntime, rank: stalled,
		v:     stall.Interval{Start: start, End: end, Slack: collectionSlack(c), Origin: c.Origin},
		attrs: t.collectionAttributes(ctx, c), stops: stops,
	})
}

// collectionExtent returns the start and the end of c and all its pauses, zero
// for what is not known. In .NET the threads are being stopped before the
// collection begins and run again after it ends: an event that waits must hold
// the watermark back from there on.
func collectionExtent(c *gc.Collection) (start, end stall.Instant) {
	start, end = c.Start.Or(0), c.End.Or(0)
	if n := len(c.Pauses); n > 0 {
		if first := c.Pauses[0].Start; start == 0 || first < start {
			start = first
		}
		end = max(end, c.Pauses[n-1].End)
	}
	return start, end
}

func collectionSlack(c *gc.Collection) time.Duration {
	var slack time.Duration
	for _, p := range c.Pauses {
		slack = max(slack, p.Slack)
	}
	return slack
}

func (t *Telemetry) collectionAttributes(ctx context.Context, c *gc.Collection) []attribute.KeyValue {
	a := append(make(attributes, 0, 24), kindAttribute(c.Kind)...)
	a.text(semconv.AttrGCTrigger, string(triggerOf(c)))
	a.text(semconv.AttrGCTriggerSite, c.TriggerSite)
	if c.Index > 0 {
		a.int(semconv.AttrGCIndex, asInt64(c.Index))
	}
	a.int(semconv.AttrGCCycles, int64(c.Cycles))
	if g, ok := c.Generation.Get(); ok {
		a.int(semconv.AttrGCGeneration, int64(g))
	}
	a.size(semconv.AttrGCPromoted, c.Promoted)
	a.size(semconv.AttrGCHeapBefore, c.HeapBefore)
	a.size(semconv.AttrGCHeapAfter, c.HeapAfter)
	a.size(semconv.AttrGCFragBefore, c.FragmentationBefore)
	a.size(semconv.AttrGCFragAfter, c.FragmentationAfter)
	a.size(semconv.AttrGCGoal, c.Goal)
	a.seconds(attrCPUAssist, c.CPU.Assist)
	a.seconds(attrCPUDedicated, c.CPU.Dedicated)
	a.seconds(attrCPUIdle, c.CPU.Idle)
	a.seconds(attrCPUPause, c.CPU.Pause)
	a.seconds(attrCPUTotal, c.CPU.Total)
	if f, ok := c.PauseUtilization.Get(); ok {
		a = append(a, attribute.Float64(semconv.AttrPauseUtilization, f))
	}
	a = append(a, dotnetAttributes(c)...)
	a = append(a, hostAttributes(c)...)
	if names := c.Estimated.Names(); len(names) > 0 {
		a = append(a, attribute.StringSlice(semconv.AttrEstimatedFields, names))
	}
	a.text(semconv.AttrFidelity, c.Fidelity.String())
	return append(a, t.pauseAttributes(ctx, c)...)
}

// pauseAttributes returns the pauses as parallel arrays, none for no pause.
func (t *Telemetry) pauseAttributes(ctx context.Context, c *gc.Collection) []attribute.KeyValue {
	n := min(len(c.Pauses), maxEventPauses)
	if over := len(c.Pauses) - n; over > 0 {
		t.countDropped(ctx, itemPause, whyLimit, uint64(over))
	}
	if n == 0 {
		return nil
	}
	column := func(of func(gc.Pause) int64) []int64 {
		values := make([]int64, n)
		for i, p := range c.Pauses[:n] {
			values[i] = of(p)
		}
		return values
	}
	phases, suspends := make([]string, n), false
	for i, p := range c.Pauses[:n] {
		phases[i] = p.Phase.String()
		suspends = suspends || !p.Suspend.IsZero()
	}
	a := []attribute.KeyValue{
		attribute.Int64Slice(semconv.AttrPauseStart, column(func(p gc.Pause) int64 { return int64(p.Start) })),
		attribute.Int64Slice(semconv.AttrPauseEnd, column(func(p gc.Pause) int64 { return int64(p.End) })),
		attribute.Int64Slice(semconv.AttrPauseEndMax, column(func(p gc.Pause) int64 { return int64(max(p.End, p.EndMax)) })),
		attribute.Int64Slice(semconv.AttrPauseSlack, column(func(p gc.Pause) int64 { return int64(p.Slack) })),
		attribute.StringSlice(semconv.AttrPausePhase, phases),
	}
	if suspends {
		a = append(a, attribute.Int64Slice(semconv.AttrPauseSuspend,
			column(func(p gc.Pause) int64 { return int64(p.Suspend.Or(-1)) })))
	}
	return append(a, pauseHostAttributes(c.Pauses[:n])...)
}
