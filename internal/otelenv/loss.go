package otelenv

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/semconv"
)

// pipeline counts what goes into a batch processor of the SDK and what comes out of it,
// since the processor itself drops without a word when its queue is full. It ends
// exports that are under way when the time for a shutdown is over.
//
// While the processor runs, up to room records may be on their way, so a loss of that
// many is noticed late; a record that still arrives is never counted as lost. After the
// end the count is exact, and an export that is still under way has failed: it is about
// to be canceled.
type pipeline struct {
	stop             context.Context
	room             uint64
	in, out          atomic.Uint64
	arrived, refused atomic.Uint64
	most             atomic.Uint64 // that lost has returned
	over             atomic.Bool
}

// export counts n records that leave the processor.
func (p *pipeline) export(ctx context.Context, n int, export func(context.Context) error) error {
	p.out.Add(uint64(n))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(p.stop, cancel)()
	err := export(ctx)
	if err != nil {
		p.refused.Add(uint64(n))
	} else {
		p.arrived.Add(uint64(n))
	}
	return err
}

// failed returns how many records reached the exporter and not the Collector.
func (p *pipeline) failed() uint64 {
	if !p.over.Load() {
		return p.refused.Load()
	}
	arrived := p.arrived.Load() // before out, which is never behind it
	return p.out.Load() - arrived
}

// lost returns how many records never reached the exporter.
func (p *pipeline) lost() uint64 {
	room := p.room
	if p.over.Load() {
		room = 0
	}
	// In this order: what passes in between makes the difference smaller.
	in, out := p.in.Load(), p.out.Load()
	for in > out+room {
		most := p.most.Load()
		if most >= in-out-room || p.most.CompareAndSwap(most, in-out-room) {
			break
		}
	}
	return p.most.Load()
}

type countedMetrics struct {
	sdkmetric.Exporter
	to *pipeline
}

func (c countedMetrics) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	return c.to.export(ctx, 1, func(ctx context.Context) error { return c.Exporter.Export(ctx, m) })
}

type countedLogs struct {
	sdklog.Exporter
	to *pipeline
}

func (c countedLogs) Export(ctx context.Context, records []sdklog.Record) error {
	return c.to.export(ctx, len(records), func(ctx context.Context) error { return c.Exporter.Export(ctx, records) })
}

// countedEmits is the other end of the queue.
type countedEmits struct {
	sdklog.Processor
	to *pipeline
}

func (c countedEmits) OnEmit(ctx context.Context, r *sdklog.Record) error {
	c.to.in.Add(1)
	return c.Processor.OnEmit(ctx, r)
}

type countedSpans struct {
	sdktrace.SpanExporter
	to *pipeline
}

func (c countedSpans) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return c.to.export(ctx, len(spans), func(ctx context.Context) error { return c.SpanExporter.ExportSpans(ctx, spans) })
}

// countedEnds is the other end of the queue.
type countedEnds struct {
	sdktrace.SpanProcessor
	to *pipeline
}

func (c countedEnds) OnEnd(s sdktrace.ReadOnlySpan) {
	// The batch processor takes no others.
	if s.SpanContext().IsSampled() {
		c.to.in.Add(1)
	}
	c.SpanProcessor.OnEnd(s)
}

// ScopeName is the scope of the counter of what the exporters lost.
const ScopeName = "github.com/otelgc/otelgc/internal/otelenv"

// countLosses exports what was lost so far. A loss that still fits the queues is not
// seen yet. After an export of metrics failed, the sums are whole again in the next one.
func (p *Providers) countLosses() error {
	m := p.Meter.Meter(ScopeName)
	d := semconv.MetricOf(semconv.MetricDropped)
	dropped, err := m.Int64ObservableCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Brief))
	if err != nil {
		return fmt.Errorf("make instrument %s: %w", semconv.MetricDropped, err)
	}
	type loss struct {
		lost func() uint64
		of   metric.ObserveOption
	}
	var losses []loss
	add := func(item, why string, lost func() uint64) {
		losses = append(losses, loss{lost, metric.WithAttributeSet(attribute.NewSet(
			attribute.String(semconv.AttrItem, item), attribute.String(semconv.AttrErrorType, why)))})
	}
	add("log_record", "queue_full", p.logs.lost)
	add("log_record", "export", p.logs.failed)
	add("metric_export", "export", p.metrics.failed)
	if p.Tracer != nil {
		add("span", "queue_full", p.spans.lost)
		add("span", "export", p.spans.failed)
	}
	_, err = m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for _, l := range losses {
			o.ObserveInt64(dropped, int64(l.lost()), l.of)
		}
		return nil
	}, dropped)
	return err
}

// Unexported is what never reached a Collector. It is exact after
// [Providers.Shutdown].
type Unexported struct {
	// Events and Spans are gone.
	Events uint64 `json:"events,omitempty"`
	Spans  uint64 `json:"spans,omitempty"`
	// MetricExports failed: where a later one arrived, it had the sums whole.
	MetricExports uint64 `json:"metric_exports,omitempty"`
	// Error is that of the end, when what was held was to go out.
	Error string `json:"error,omitempty"`
}

// Unexported returns what never reached a Collector, where the shutdown returned err;
// nil if all that matters did: the last metrics, and every event and span.
func (p *Providers) Unexported(err error) *Unexported {
	u := Unexported{
		Events: p.logs.lost() + p.logs.failed(), Spans: p.spans.lost() + p.spans.failed(), MetricExports: p.metrics.failed(),
	}
	if err != nil {
		u.Error = err.Error()
	}
	if u.Events == 0 && u.Spans == 0 && u.Error == "" {
		return nil
	}
	return &u
}

// Facts are for a log.
func (u *Unexported) Facts() []any {
	facts := []any{"events_lost", u.Events, "metric_exports_failed", u.MetricExports}
	if u.Spans > 0 {
		facts = append(facts, "spans_lost", u.Spans)
	}
	if u.Error != "" {
		facts = append(facts, "error", u.Error)
	}
	return facts
}

// String returns the facts as name=value, with a space in between.
func (u *Unexported) String() string {
	var words []string
	for facts := u.Facts(); len(facts) > 0; facts = facts[2:] {
		words = append(words, fmt.Sprintf("%v=%v", facts[0], facts[1]))
	}
	return strings.Join(words, " ")
}
