package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall/gc"
)

// The registry's metrics of a .NET process, and one that is proposed to it.
// Names, units and meanings are the registry's. What it counts since the
// process began counts here since somebody attached: the start time of the
// series says when.
var (
	dotnetPause = Metric{
		semconv.MetricDotnetPauseDuration, Histogram, "s", []string{semconv.AttrPauseGeneration, semconv.AttrPauseType},
		"Duration of individual GC pauses. (Proposed to the registry.)",
	}
	dotnetCollections = Metric{
		semconv.MetricDotnetCollections, Counter, "{collection}", []string{semconv.AttrDotnetGeneration},
		"The number of garbage collections that have occurred since the process has started.",
	}
	dotnetAllocated = Metric{
		semconv.MetricDotnetAllocated, Counter, "By", nil,
		"The approximate number of bytes allocated on the managed GC heap since the process has started. The returned value does not include any native allocations.",
	}
	dotnetPauseTime = Metric{
		semconv.MetricDotnetPauseTime, Counter, "s", nil,
		"The total amount of time paused in GC since the process has started.",
	}
	dotnetHeapSize = Metric{
		semconv.MetricDotnetHeapSize, ObservableUpDown, "By", []string{semconv.AttrDotnetGeneration},
		"The managed GC heap size (including fragmentation), as observed during the latest garbage collection.",
	}
	dotnetFragmentation = Metric{
		semconv.MetricDotnetFragmentation, ObservableUpDown, "By", []string{semconv.AttrDotnetGeneration},
		"The heap fragmentation, as observed during the latest garbage collection.",
	}

	dotnetMetrics = []Metric{dotnetPause, dotnetCollections, dotnetAllocated, dotnetPauseTime, dotnetHeapSize, dotnetFragmentation}
)

type dotnetPauseSeries struct {
	generation int
	blocking   bool
}

// dotnetInstruments holds the dotnet.* metrics; the zero value records nothing.
type dotnetInstruments struct {
	pause       metric.Float64Histogram
	collections metric.Int64Counter
	allocated   metric.Int64Counter
	pauseTime   metric.Float64Counter

	byPause      *series[dotnetPauseSeries]
	byGeneration *series[gc.GenerationID]

	mu   sync.Mutex
	last []gc.Generation // of the latest collection
}

func (i *dotnetInstruments) record(ctx context.Context, c *gc.Collection) {
	if i.pause == nil {
		return
	}
	generation, known := c.Generation.Get()
	if known && i.pause.Enabled(ctx) {
		of := i.byPause.record(dotnetPauseSeries{generation, c.Kind != gc.Background})
		for _, p := range c.Pauses {
			i.pause.Record(ctx, p.Duration().Seconds(), of...)
		}
	}
	if known && c.Cycles > 0 && generation >= 0 && generation < int(gc.NumGenerations) && i.collections.Enabled(ctx) {
		i.collections.Add(ctx, int64(c.Cycles), i.byGeneration.add(gc.GenerationID(generation))...)
	}
	if n, ok := c.Allocated.Get(); ok && i.allocated.Enabled(ctx) {
		i.allocated.Add(ctx, asInt64(n))
	}
	if len(c.Pauses) > 0 && i.pauseTime.Enabled(ctx) {
		i.pauseTime.Add(ctx, c.PauseTotal().Seconds())
	}
	if len(c.Generations) > 0 {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.last = append(i.last[:0], c.Generations...)
	}
}

// make makes the instruments and returns what registers the callback.
func (i *dotnetInstruments) make(m *maker) func() (metric.Registration, error) {
	i.pause, i.pauseTime = m.durations(dotnetPause), m.seconds(dotnetPauseTime)
	i.collections, i.allocated = m.count(dotnetCollections), m.count(dotnetAllocated)
	i.byPause = newSeries(func(k dotnetPauseSeries) []attribute.KeyValue {
		kind := "background"
		if k.blocking {
			kind = "blocking"
		}
		return []attribute.KeyValue{
			attribute.String(semconv.AttrPauseGeneration, gc.GenerationID(k.generation).String()),
			attribute.String(semconv.AttrPauseType, kind),
		}
	})
	i.byGeneration = newSeries(func(g gc.GenerationID) []attribute.KeyValue {
		return []attribute.KeyValue{attribute.String(semconv.AttrDotnetGeneration, g.String())}
	})
	size, fragmentation := m.observedUpDown(dotnetHeapSize), m.observedUpDown(dotnetFragmentation)
	observe := func(_ context.Context, o metric.Observer) error {
		i.mu.Lock()
		defer i.mu.Unlock()
		for _, g := range i.last {
			of := metric.WithAttributes(attribute.String(semconv.AttrDotnetGeneration, g.ID.String()))
			if n, ok := g.SizeAfter.Get(); ok {
				o.ObserveInt64(size, asInt64(n), of)
			}
			if n, ok := g.FragmentationAfter.Get(); ok {
				o.ObserveInt64(fragmentation, asInt64(n), of)
			}
		}
		return nil
	}
	return func() (metric.Registration, error) { return m.register(observe, size, fragmentation) }
}
