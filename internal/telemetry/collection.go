package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// maxSamples bounds the samples of one bucket of one reading: a histogram of the
// API takes them one by one. What is above is counted as dropped.
const maxSamples = 1 << 14

type (
	pauseSeries struct {
		kind     gc.Kind
		phase    gc.Phase
		fidelity stall.Fidelity
	}
	triggerSeries struct {
		kind      gc.Kind
		trigger   gc.Trigger
		estimated bool
	}
	dotnetSeries struct {
		generation int
		blocking   bool
	}
	none struct{} // of a metric without attributes
)

// collections are the instruments of collections.
type collections struct {
	pause            *instrument[pauseSeries]
	pauseTime        *instrument[gc.Kind] // nil for .NET
	suspend          *instrument[gc.Kind]
	promoted, before *instrument[triggerSeries]

	// Nil where the options leave the metrics of the runtime out.
	goPause           *instrument[none]
	goCycles          *instrument[triggerSeries]
	dotnetPause       *instrument[dotnetSeries]
	dotnetCollections *instrument[gc.GenerationID]
	dotnetAllocated   *instrument[none]
	dotnetPauseTime   *instrument[none]

	mu     sync.Mutex
	last   [gc.NumKinds]gc.Collection // what the gauges say; Cycles is 0 if there was none
	heap   []gc.Generation            // of the latest collection
	totals GoTotals
}

func (i *collections) make(m *maker, o *Options) {
	trigger := func(k triggerSeries) []attribute.KeyValue {
		return append(kindAttribute(k.kind), attribute.String(semconv.AttrGCTrigger, string(k.trigger)))
	}
	i.pause = newInstrument(m, semconv.MetricPauseDuration, func(k pauseSeries) []attribute.KeyValue {
		return append(kindAttribute(k.kind),
			attribute.String(semconv.AttrPausePhase, k.phase.String()), attribute.String(semconv.AttrFidelity, k.fidelity.String()))
	})
	i.suspend = newInstrument(m, semconv.MetricSuspendDuration, kindAttribute)
	i.promoted = newInstrument(m, semconv.MetricPromoted, trigger)
	i.before = newInstrument(m, semconv.MetricHeapBefore, func(k triggerSeries) []attribute.KeyValue {
		return append(trigger(k), attribute.Bool(semconv.AttrEstimated, k.estimated))
	})
	i.observeLast(m)
	if o.GoMetrics {
		i.goPause = newInstrument[none](m, semconv.MetricGoPauseDuration, nil)
		i.goCycles = newInstrument(m, semconv.MetricGoCycles, trigger)
		i.observeTotals(m)
	}
	if !o.DotnetMetrics {
		i.pauseTime = newInstrument(m, semconv.MetricPauseTime, kindAttribute)
		return
	}
	i.dotnetPause = newInstrument(m, semconv.MetricDotnetPauseDuration, func(k dotnetSeries) []attribute.KeyValue {
		kind := "background"
		if k.blocking {
			kind = "blocking"
		}
		return []attribute.KeyValue{
			attribute.String(semconv.AttrPauseGeneration, gc.GenerationID(k.generation).String()),
			attribute.String(semconv.AttrPauseType, kind),
		}
	})
	i.dotnetCollections = newInstrument(m, semconv.MetricDotnetCollections, generationAttribute)
	i.dotnetAllocated = newInstrument[none](m, semconv.MetricDotnetAllocated, nil)
	i.dotnetPauseTime = newInstrument[none](m, semconv.MetricDotnetPauseTime, nil)
	i.observeHeap(m)
}

// kindAttribute returns the attribute of k, none if k is not known.
func kindAttribute(k gc.Kind) []attribute.KeyValue {
	if k == gc.NoKind {
		return nil
	}
	return []attribute.KeyValue{attribute.String(semconv.AttrGCKind, k.String())}
}

func generationAttribute(g gc.GenerationID) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String(semconv.AttrDotnetGeneration, g.String())}
}

// Collection records c in the metrics, as the last collection of its kind and
// as an event. It keeps nothing of c's memory.
//
// Where the lengths of c's pauses are estimates of fidelity cycle, the samples
// of the pause histogram come from [Telemetry.CyclePauses] instead: such a
// record may hold all stops of the cycle as one.
func (t *Telemetry) Collection(c *gc.Collection) {
	ctx := context.Background()
	t.gc.record(ctx, c)
	if t.o.DotnetMetrics {
		t.gc.recordDotnet(ctx, c)
	}
	t.gc.keep(c)
	t.collectionEvent(c)
}

func (i *collections) record(ctx context.Context, c *gc.Collection) {
	if c.Fidelity != stall.Cycle || !c.Estimated.Has(gc.FieldPauses) {
		for _, p := range c.Pauses {
			i.pause.record(ctx, p.Duration().Seconds(), pauseSeries{c.Kind, p.Phase, c.Fidelity})
		}
	}
	if len(c.Pauses) > 0 {
		i.pauseTime.record(ctx, c.PauseTotal().Seconds(), c.Kind)
	}
	for _, p := range c.Pauses {
		if d, ok := p.Suspend.Get(); ok {
			i.suspend.record(ctx, d.Seconds(), c.Kind)
		}
	}
	key := triggerSeries{kind: c.Kind, trigger: semconv.Trigger(c)}
	if n, ok := c.Promoted.Get(); ok {
		i.promoted.record(ctx, float64(n), key)
	}
	if c.Cycles > 0 {
		i.goCycles.record(ctx, float64(c.Cycles), key)
	}
	if n, ok := c.HeapBefore.Get(); ok {
		key.estimated = c.Estimated.Has(gc.FieldHeapBefore)
		i.before.record(ctx, float64(n), key)
	}
}

func (i *collections) recordDotnet(ctx context.Context, c *gc.Collection) {
	if generation, ok := c.Generation.Get(); ok {
		for _, p := range c.Pauses {
			i.dotnetPause.record(ctx, p.Duration().Seconds(), dotnetSeries{generation, c.Kind != gc.Background})
		}
		if c.Cycles > 0 && generation >= 0 && generation < int(gc.NumGenerations) {
			i.dotnetCollections.record(ctx, float64(c.Cycles), gc.GenerationID(generation))
		}
	}
	if n, ok := c.Allocated.Get(); ok {
		i.dotnetAllocated.record(ctx, float64(n), none{})
	}
	if len(c.Pauses) > 0 {
		i.dotnetPauseTime.record(ctx, c.PauseTotal().Seconds(), none{})
	}
}

// keep keeps what the gauges say of c, unless it is of an earlier collection than
// what is there: a better fidelity may report late.
func (i *collections) keep(c *gc.Collection) {
	if c.Kind >= gc.NumKinds {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(c.Generations) > 0 {
		i.heap = append(i.heap[:0], c.Generations...)
	}
	if last := &i.last[c.Kind]; c.Index == 0 || c.Index >= last.Index {
		pauses := append(last.Pauses[:0], c.Pauses...)
		*last = *c
		last.Cycles = max(1, c.Cycles)
		last.Pauses, last.Generations = pauses, nil
	}
}

// observeLast makes the gauges of the last collections. One callback reads one
// record whole, so that the gauges are never of two collections.
func (i *collections) observeLast(m *maker) {
	gauges := make([]observable, len(lastMetrics))
	for n := range gauges {
		gauges[n] = m.observable(semconv.MetricLastPrefix + lastMetrics[n].name)
	}
	var of [gc.NumKinds]metric.ObserveOption
	for kind := range of {
		of[kind] = metric.WithAttributeSet(attribute.NewSet(kindAttribute(gc.Kind(kind))...))
	}
	m.observe(func(o metric.Observer) {
		i.mu.Lock()
		defer i.mu.Unlock()
		for kind := range i.last {
			c := &i.last[kind]
			if c.Cycles == 0 {
				continue
			}
			for n := range gauges {
				gauges[n].observe(o, lastMetrics[n].of(c), of[kind])
			}
		}
	})
}

func (i *collections) observeHeap(m *maker) {
	size, fragmentation := m.observable(semconv.MetricDotnetHeapSize), m.observable(semconv.MetricDotnetFragmentation)
	m.observe(func(o metric.Observer) {
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, g := range i.heap {
			of := metric.WithAttributes(generationAttribute(g.ID)...)
			size.observe(o, semconv.Known(g.SizeAfter), of)
			fragmentation.observe(o, semconv.Known(g.FragmentationAfter), of)
		}
	})
}

// CyclePauses records count pauses for collections of kind that the runtime
// counted in the bucket whose geometric middle is given, in seconds. It is for
// the cycles that no exact source saw.
func (t *Telemetry) CyclePauses(kind gc.Kind, middle float64, count uint64) {
	repeat(t, t.gc.pause, middle, count, pauseSeries{kind, gc.PhaseUnknown, stall.Cycle})
}

// Suspends records count stops for collections of kind whose threads took as
// long to stop as the geometric middle of the runtime's bucket, in seconds. It
// is for Go: the runtime counts these times, and does not say whose they are.
func (t *Telemetry) Suspends(kind gc.Kind, middle float64, count uint64) {
	repeat(t, t.gc.suspend, middle, count, kind)
}

// GoPauses records count pauses that the runtime counted in the bucket whose
// geometric middle is given, in seconds, whatever the fidelity.
func (t *Telemetry) GoPauses(middle float64, count uint64) {
	repeat(t, t.gc.goPause, middle, count, none{})
}

func repeat[K comparable](t *Telemetry, i *instrument[K], v float64, count uint64, k K) {
	for range min(count, maxSamples) {
		i.record(context.Background(), v, k)
	}
	if count > maxSamples {
		t.Dropped(itemPause, whyLimit, count-maxSamples)
	}
}

// GoTotals is one reading of what the Go runtime counts since the process
// began. What is not known is not exported.
type GoTotals struct {
	// CPU times by the classes of runtime/metrics, /cpu/classes/...
	GCAssist, GCDedicated, GCIdle, GCPause gc.Maybe[time.Duration]
	ScavengeAssist, ScavengeBackground     gc.Maybe[time.Duration]
	User, Idle                             gc.Maybe[time.Duration]
	// Allocated is /gc/heap/allocs:bytes.
	Allocated gc.Maybe[gc.Bytes]
}

// GoTotals replaces the reading that the observable go.* counters export.
func (t *Telemetry) GoTotals(g GoTotals) {
	t.gc.mu.Lock()
	defer t.gc.mu.Unlock()
	t.gc.totals = g
}

// observeTotals makes the counters of the runtime's totals. Of the CPU time it
// exports the leaves of /cpu/classes, so that their sum is the total.
func (i *collections) observeTotals(m *maker) {
	cpu, allocated := m.observable(semconv.MetricGoCPUTime), m.observable(semconv.MetricGoAllocated)
	class := func(state, detail string) metric.ObserveOption {
		return metric.WithAttributeSet(attribute.NewSet(
			attribute.String(semconv.AttrGoCPUState, state), attribute.String(semconv.AttrGoCPUDetail, detail)))
	}
	classes := []struct {
		metric.ObserveOption
		of *gc.Maybe[time.Duration]
	}{
		{class("gc", "gc/mark/assist"), &i.totals.GCAssist},
		{class("gc", "gc/mark/dedicated"), &i.totals.GCDedicated},
		{class("gc", "gc/mark/idle"), &i.totals.GCIdle},
		{class("gc", "gc/pause"), &i.totals.GCPause},
		{class("scavenge", "scavenge/assist"), &i.totals.ScavengeAssist},
		{class("scavenge", "scavenge/background"), &i.totals.ScavengeBackground},
		{class("user", "user"), &i.totals.User},
		{class("idle", "idle"), &i.totals.Idle},
	}
	m.observe(func(o metric.Observer) {
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, c := range classes {
			cpu.observe(o, semconv.Known(*c.of), c.ObserveOption)
		}
		allocated.observe(o, semconv.Known(i.totals.Allocated))
	})
}
