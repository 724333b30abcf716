package telemetry

import (
	"context"
	"math"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

var (
	pauseDuration = Metric{
		semconv.MetricPauseDuration, Histogram, "s",
		[]string{semconv.AttrGCKind, semconv.AttrPausePhase, semconv.AttrFidelity},
		"Stop-the-world pauses for garbage collection, one sample per pause, from the better fidelity; in cycle fidelity the geometric middle of the runtime's bucket.",
	}
	pauseTime = Metric{
		semconv.MetricPauseTime, Counter, "s", []string{semconv.AttrGCKind},
		"Time stopped for garbage collection; of a .NET process dotnet.gc.pause.time says it.",
	}
	suspendDuration = Metric{
		semconv.MetricSuspendDuration, Histogram, "s", []string{semconv.AttrGCKind},
		"Time it took to stop the threads for a pause; of a Go process the geometric middle of the runtime's bucket.",
	}
	promotedSize = Metric{
		semconv.MetricPromoted, Histogram, "By", []string{semconv.AttrGCKind, semconv.AttrGCTrigger},
		"Bytes that survived a collection, one sample per collection; in Go the bytes marked live.",
	}
	heapBefore = Metric{
		semconv.MetricHeapBefore, Histogram, "By", []string{semconv.AttrGCKind, semconv.AttrGCTrigger, semconv.AttrEstimated},
		"Heap when a collection began, one sample per collection.",
	}

	collectionMetrics = []Metric{pauseDuration, pauseTime, suspendDuration, promotedSize, heapBefore}
)

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
)

type collectionInstruments struct {
	pause            metric.Float64Histogram
	pauseTime        metric.Float64Counter
	suspend          metric.Float64Histogram
	promoted, before metric.Int64Histogram

	byPause   *series[pauseSeries]
	byKind    *series[gc.Kind]
	byTrigger *series[triggerSeries]
	byBefore  *series[triggerSeries]
}

func newCollectionInstruments(m *maker, withPauseTime bool) collectionInstruments {
	var total metric.Float64Counter = metricnoop.Float64Counter{}
	if withPauseTime {
		total = m.seconds(pauseTime)
	}
	return collectionInstruments{
		pause:     m.durations(pauseDuration),
		pauseTime: total,
		suspend:   m.durations(suspendDuration),
		promoted:  m.sizes(promotedSize),
		before:    m.sizes(heapBefore),
		byPause: newSeries(func(k pauseSeries) []attribute.KeyValue {
			return append(kindAttribute(k.kind),
				attribute.String(semconv.AttrPausePhase, k.phase.String()),
				attribute.String(semconv.AttrFidelity, k.fidelity.String()))
		}),
		byKind: newSeries(kindAttribute),
		byTrigger: newSeries(func(k triggerSeries) []attribute.KeyValue {
			return append(kindAttribute(k.kind), attribute.String(semconv.AttrGCTrigger, string(k.trigger)))
		}),
		byBefore: newSeries(func(k triggerSeries) []attribute.KeyValue {
			return append(kindAttribute(k.kind),
				attribute.String(semconv.AttrGCTrigger, string(k.trigger)),
				attribute.Bool(semconv.AttrEstimated, k.estimated))
		}),
	}
}

// kindAttribute returns the attribute of k, none if k is not known.
func kindAttribute(k gc.Kind) []attribute.KeyValue {
	if k == gc.NoKind {
		return nil
	}
	return []attribute.KeyValue{attribute.String(semconv.AttrGCKind, k.String())}
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
	t.goSelf.cycles(ctx, c)
	t.dotnet.record(ctx, c)
	t.last.put(c)
	t.collectionEvent(ctx, c)
}

func (i *collectionInstruments) record(ctx context.Context, c *gc.Collection) {
	if i.pause.Enabled(ctx) && !pausesMerged(c) {
		for _, p := range c.Pauses {
			i.pause.Record(ctx, p.Duration().Seconds(), i.byPause.record(pauseSeries{c.Kind, p.Phase, c.Fidelity})...)
		}
	}
	if len(c.Pauses) > 0 && i.pauseTime.Enabled(ctx) {
		i.pauseTime.Add(ctx, c.PauseTotal().Seconds(), i.byKind.add(c.Kind)...)
	}
	if i.suspend.Enabled(ctx) {
		for _, p := range c.Pauses {
			if d, ok := p.Suspend.Get(); ok {
				i.suspend.Record(ctx, d.Seconds(), i.byKind.record(c.Kind)...)
			}
		}
	}
	key := triggerSeries{kind: c.Kind, trigger: triggerOf(c)}
	if n, ok := c.Promoted.Get(); ok && i.promoted.Enabled(ctx) {
		i.promoted.Record(ctx, asInt64(n), i.byTrigger.record(key)...)
	}
	if n, ok := c.HeapBefore.Get(); ok && i.before.Enabled(ctx) {
		key.estimated = c.Estimated.Has(gc.FieldHeapBefore)
		i.before.Record(ctx, asInt64(n), i.byBefore.record(key)...)
	}
}

// CyclePauses records count pauses for collections of kind that the runtime
// counted in the bucket whose geometric middle is given, in seconds. It is for
// the cycles that no exact source saw.
func (t *Telemetry) CyclePauses(kind gc.Kind, middle float64, count uint64) {
	ctx := context.Background()
	if !t.gc.pause.Enabled(ctx) {
		return
	}
	t.repeat(ctx, count, func() {
		t.gc.pause.Record(ctx, middle, t.gc.byPause.record(pauseSeries{kind, gc.PhaseUnknown, stall.Cycle})...)
	})
}

// Suspends records count stops for collections of kind whose threads took as
// long to stop as the geometric middle of the runtime's bucket, in seconds. It
// is for Go: the runtime counts these times, and does not say whose they are.
func (t *Telemetry) Suspends(kind gc.Kind, middle float64, count uint64) {
	ctx := context.Background()
	if !t.gc.suspend.Enabled(ctx) {
		return
	}
	t.repeat(ctx, count, func() { t.gc.suspend.Record(ctx, middle, t.gc.byKind.record(kind)...) })
}

// pausesMerged reports whether c's pauses are a placement of the cycle's sum.
func pausesMerged(c *gc.Collection) bool {
	return c.Fidelity == stall.Cycle && c.Estimated.Has(gc.FieldPauses)
}

func triggerOf(c *gc.Collection) gc.Trigger {
	if c.Trigger == "" {
		return gc.TriggerUnknown
	}
	return c.Trigger
}

// asInt64 returns n as OpenTelemetry can hold it.
func asInt64[N ~uint64](n N) int64 { return int64(min(n, math.MaxInt64)) }
