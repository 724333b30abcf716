package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// maxEventPauses bounds the pauses that one event names; the rest is counted as
// dropped. A collection of Go has two, rarely three.
const maxEventPauses = 128

const (
	attrCPUAssist    = stall.AttrCPUPrefix + "assist"
	attrCPUDedicated = stall.AttrCPUPrefix + "dedicated"
	attrCPUIdle      = stall.AttrCPUPrefix + "idle"
	attrCPUPause     = stall.AttrCPUPrefix + "pause"
	attrCPUTotal     = stall.AttrCPUPrefix + "total"
)

var collectionEvent = Event{
	stall.EventCollection,
	[]string{
		stall.AttrGCKind, stall.AttrGCTrigger, stall.AttrGCTriggerSite, stall.AttrGCIndex, stall.AttrGCCycles,
		stall.AttrGCGeneration, stall.AttrGCPromoted, stall.AttrGCHeapBefore, stall.AttrGCHeapAfter,
		stall.AttrGCFragBefore, stall.AttrGCFragAfter, stall.AttrGCGoal,
		attrCPUAssist, attrCPUDedicated, attrCPUIdle, attrCPUPause, attrCPUTotal, stall.AttrPauseUtilization,
		stall.AttrPauseStart, stall.AttrPauseEnd, stall.AttrPauseEndMax, stall.AttrPauseSuspend,
		stall.AttrPauseSlack, stall.AttrPausePhase,
		stall.AttrGCCompacting, stall.AttrGCConcurrent, stall.AttrGCPinned, stall.AttrGCFinalizable,
		stall.AttrGCMemoryLoad, stall.AttrGCAllocated, stall.AttrGCIncomplete, stall.AttrGCGenerations,
		attrSizeBefore, attrSizeAfter, attrFragBefore, attrFragAfter, attrPromoted, attrSurvived, attrBudget,
		stall.AttrHostFaults, stall.AttrHostRunDelay, stall.AttrHostThrottled, stall.AttrHostStolen, stall.AttrHostOver,
		stall.AttrHostCPUWait, stall.AttrHostPageWait,
		attrPauseFaults, attrPauseRunDelay, attrPauseThrottled, attrPauseStolen, attrPauseOver, attrPauseCPUWait, attrPausePageWait,
		stall.AttrPauseUsual, stall.AttrSlowedBy,
		stall.AttrEstimatedFields, stall.AttrFidelity,
	},
	"One garbage collection as one record. Its severity follows the sum of its pauses, not its length.",
}

// collectionEvent offers the event of c. It ranks by the sum of the pauses: a
// long collection that stopped nobody is no stall.
func (t *Telemetry) collectionEvent(ctx context.Context, c *gc.Collection) {
	stalled := c.PauseTotal()
	if !t.wanted(ctx, stall.EventCollection, c.Source, stalled) {
		for i := range c.Pauses {
			t.events.blank(c.Source, reachOf(&c.Pauses[i]))
		}
		return
	}
	stops := make([]stall.Span, 0, len(c.Pauses))
	for i := range c.Pauses {
		stops = append(stops, reachOf(&c.Pauses[i]))
	}
	start, end := collectionExtent(c)
	t.events.put(held{
		name: stall.EventCollection, class: classRuntime, rank: stalled,
		v:     stall.Interval{Start: start, End: end, Slack: collectionSlack(c), Source: c.Source},
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
	a.text(stall.AttrGCTrigger, string(triggerOf(c)))
	a.text(stall.AttrGCTriggerSite, c.TriggerSite)
	if c.Index > 0 {
		a.int(stall.AttrGCIndex, asInt64(c.Index))
	}
	a.int(stall.AttrGCCycles, int64(c.Cycles))
	if g, ok := c.Generation.Get(); ok {
		a.int(stall.AttrGCGeneration, int64(g))
	}
	a.size(stall.AttrGCPromoted, c.Promoted)
	a.size(stall.AttrGCHeapBefore, c.HeapBefore)
	a.size(stall.AttrGCHeapAfter, c.HeapAfter)
	a.size(stall.AttrGCFragBefore, c.FragmentationBefore)
	a.size(stall.AttrGCFragAfter, c.FragmentationAfter)
	a.size(stall.AttrGCGoal, c.Goal)
	a.seconds(attrCPUAssist, c.CPU.Assist)
	a.seconds(attrCPUDedicated, c.CPU.Dedicated)
	a.seconds(attrCPUIdle, c.CPU.Idle)
	a.seconds(attrCPUPause, c.CPU.Pause)
	a.seconds(attrCPUTotal, c.CPU.Total)
	if f, ok := c.PauseUtilization.Get(); ok {
		a = append(a, attribute.Float64(stall.AttrPauseUtilization, f))
	}
	a = append(a, dotnetAttributes(c)...)
	a = append(a, hostAttributes(c)...)
	if names := c.Estimated.Names(); len(names) > 0 {
		a = append(a, attribute.StringSlice(stall.AttrEstimatedFields, names))
	}
	a.text(stall.AttrFidelity, c.Fidelity.String())
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
		attribute.Int64Slice(stall.AttrPauseStart, column(func(p gc.Pause) int64 { return int64(p.Start) })),
		attribute.Int64Slice(stall.AttrPauseEnd, column(func(p gc.Pause) int64 { return int64(p.End) })),
		attribute.Int64Slice(stall.AttrPauseEndMax, column(func(p gc.Pause) int64 { return int64(max(p.End, p.EndMax)) })),
		attribute.Int64Slice(stall.AttrPauseSlack, column(func(p gc.Pause) int64 { return int64(p.Slack) })),
		attribute.StringSlice(stall.AttrPausePhase, phases),
	}
	if suspends {
		a = append(a, attribute.Int64Slice(stall.AttrPauseSuspend,
			column(func(p gc.Pause) int64 { return int64(p.Suspend.Or(-1)) })))
	}
	return append(a, pauseHostAttributes(c.Pauses[:n])...)
}
