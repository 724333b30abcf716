package telemetry

import (
	"context"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// What the package itself drops, and why.
const (
	itemEvent   = "event"
	itemPause   = "pause"
	itemSample  = "sample"
	whyRate     = "rate_limit"
	whySeverity = "min_severity"
	whyLimit    = "limit"
	whyPanic    = "panic"
	whyQueue    = "queue_full"
	whyShutdown = "shutdown"
)

var (
	pauseUtilization = Metric{
		semconv.MetricPauseUtilization, Gauge, "1", []string{semconv.AttrWindow},
		"Share of wall time paused for garbage collection. For an interval take the rate of the pause time.",
	}
	coverage = Metric{
		semconv.MetricCoverage, Gauge, "1", []string{semconv.AttrSource},
		"Fraction of time that the source watched: of gcwatch and gotrace over the last 10 s, of a probe since it began, of others since their last status.",
	}
	droppedItems = Metric{
		semconv.MetricDropped, Counter, "{item}", []string{semconv.AttrItem, semconv.AttrErrorType},
		"Anything that was not kept, by what and why.",
	}

	monitorMetrics = []Metric{pauseUtilization, coverage, droppedItems}
)

type dropSeries struct{ item, why string }

type monitorInstruments struct {
	utilization, coverage metric.Float64Gauge
	dropped               metric.Int64Counter

	byWindow *series[string]
	bySource *series[stall.Origin]
	byDrop   *series[dropSeries]
}

func newMonitorInstruments(m *maker) monitorInstruments {
	return monitorInstruments{
		utilization: m.gauge(pauseUtilization),
		coverage:    m.gauge(coverage),
		dropped:     m.count(droppedItems),
		byWindow: newSeries(func(window string) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String(semconv.AttrWindow, window)}
		}),
		bySource: newSeries(func(s stall.Origin) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String(semconv.AttrSource, s.String())}
		}),
		byDrop: newSeries(func(k dropSeries) []attribute.KeyValue {
			return []attribute.KeyValue{attribute.String(semconv.AttrItem, k.item), attribute.String(semconv.AttrErrorType, k.why)}
		}),
	}
}

// PauseUtilization records f, the share of wall time paused, 0 to 1. Window is
// "process" if it counts since the process began, "attach" if since a source
// attached to it.
func (t *Telemetry) PauseUtilization(window string, f float64) {
	ctx := context.Background()
	if t.monitor.utilization.Enabled(ctx) {
		t.monitor.utilization.Record(ctx, f, t.monitor.byWindow.record(window)...)
	}
}

// Coverage records f, the fraction of time that source watched, 0 to 1.
func (t *Telemetry) Coverage(source stall.Origin, f float64) {
	ctx := context.Background()
	if t.monitor.coverage.Enabled(ctx) {
		t.monitor.coverage.Record(ctx, f, t.monitor.bySource.record(source)...)
	}
}

// Dropped counts n items that were not kept, and why: both words are from the
// caller's closed list. Their duration together is no metric: a source says it
// in its [Status].
func (t *Telemetry) Dropped(item, why string, n uint64, _ time.Duration) {
	t.countDropped(context.Background(), item, why, n)
}

// lostSample counts a value that a panic of the program's code has cost, unless it
// was the count of such values.
func (t *Telemetry) lostSample(panicked any) {
	t.o.OnPanic("an exemplar filter, a reservoir or a view of the provider of meters", panicked)
	if t.losing.CompareAndSwap(false, true) {
		defer t.losing.Store(false)
		t.countDropped(context.Background(), itemSample, whyPanic, 1)
	}
}

func (t *Telemetry) countDropped(ctx context.Context, item, why string, n uint64) {
	if n > 0 && t.monitor.dropped.Enabled(ctx) {
		t.monitor.dropped.Add(ctx, int64(min(n, math.MaxInt64)), t.monitor.byDrop.add(dropSeries{item, why})...)
	}
}
