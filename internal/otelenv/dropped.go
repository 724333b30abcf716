package otelenv

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/semconv"
)

// Dropped says what never reached a Collector, as far as is known.
type Dropped struct {
	LogsQueued, LogsFailed   uint64 // records: no room in the queue, or the export failed
	SpansQueued, SpansFailed uint64
	MetricsFailed            uint64 // exports; cumulative sums are whole again in the next one
}

// Dropped returns what was lost so far. It is exact after Shutdown; before, a
// loss that still fits the queues is not seen yet.
func (p *Providers) Dropped() Dropped {
	return Dropped{
		LogsQueued: p.logs.tally.lost(), LogsFailed: p.logs.tally.failed(),
		SpansQueued: p.spans.tally.lost(), SpansFailed: p.spans.tally.failed(),
		MetricsFailed: p.metrics.tally.failed(),
	}
}

// countLosses exports Dropped.
func (p *Providers) countLosses() error {
	m := p.Meter.Meter(ScopeName)
	dropped, err := m.Int64ObservableCounter(semconv.MetricDropped, metric.WithUnit("{item}"),
		metric.WithDescription("Anything that was not kept, by what and why."))
	if err != nil {
		return fmt.Errorf("make instrument %s: %w", semconv.MetricDropped, err)
	}
	of := func(item, why string) metric.ObserveOption {
		return metric.WithAttributeSet(attribute.NewSet(
			attribute.String(semconv.AttrItem, item), attribute.String(semconv.AttrErrorType, why)))
	}
	logsQueued, logsFailed := of("log_record", "queue_full"), of("log_record", "export")
	spansQueued, spansFailed := of("span", "queue_full"), of("span", "export")
	metricsFailed := of("metric_export", "export")
	_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		d := p.Dropped()
		o.ObserveInt64(dropped, int64(d.LogsQueued), logsQueued)
		o.ObserveInt64(dropped, int64(d.LogsFailed), logsFailed)
		o.ObserveInt64(dropped, int64(d.MetricsFailed), metricsFailed)
		if p.Tracer != nil {
			o.ObserveInt64(dropped, int64(d.SpansQueued), spansQueued)
			o.ObserveInt64(dropped, int64(d.SpansFailed), spansFailed)
		}
		return nil
	}, dropped)
	return err
}
