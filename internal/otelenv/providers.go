package otelenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/stall"
)

// ShutdownTimeout bounds [Providers.Shutdown], whatever the Collector does.
const ShutdownTimeout = 5 * time.Second

// ScopeName is the scope of the counter of what the exporters lost.
const ScopeName = "github.com/otelgc/otelgc/internal/otelenv"

// Options says what the environment does not.
type Options struct {
	// ServiceName is the service.name if the environment names none; the
	// SDK's unknown_service if empty.
	ServiceName string
	// Resource is added to what is detected; the environment overrides it.
	Resource []attribute.KeyValue
	// Other, if not nil, makes the telemetry that of another process of this
	// host: the resource is these attributes and the host's. Nothing is read of
	// this process, and of the environment only how to export.
	Other []attribute.KeyValue
	// UniqueKeys says that no event will have two attributes of one key: the SDK
	// does not search each for them, which costs about as much as all else that it
	// does for an event.
	UniqueKeys bool
	// LogQueue is how many events may wait to be exported if the environment
	// does not say (OTEL_BLRP_MAX_QUEUE_SIZE); 2048 if zero. The queue's memory
	// is taken at once.
	LogQueue int
	// Traces asks for a provider of tracers.
	Traces bool
	// Spans, if not nil, returns the processor that spans go to instead of the
	// one that exports them, which it is given. It is not called where no spans
	// are exported.
	Spans func(exporting sdktrace.SpanProcessor) sdktrace.SpanProcessor
	// SpanQueue is how many spans may wait for their export if the environment
	// does not say; the SDK's 2048 if zero.
	SpanQueue int
}

// Providers are the providers of one program.
type Providers struct {
	Meter    *sdkmetric.MeterProvider
	Logger   *sdklog.LoggerProvider
	Tracer   *sdktrace.TracerProvider // nil without Options.Traces
	Resource *resource.Resource

	limit                time.Duration // of Shutdown
	stop                 context.CancelFunc
	metrics, logs, spans gate
	once                 sync.Once
	err                  error
}

// Start makes the providers. It does not wait for a connection.
func Start(ctx context.Context, o Options) (*Providers, error) {
	stopped, stop := context.WithCancel(context.WithoutCancel(ctx))
	p := &Providers{stop: stop, limit: ShutdownTimeout}
	p.metrics.stop, p.logs.stop, p.spans.stop = stopped, stopped, stopped
	var err error
	if p.Resource, err = newResource(ctx, o); err != nil {
		stop()
		return nil, err
	}
	err = errors.Join(p.startMetrics(ctx), p.startLogs(ctx, o), p.startTraces(ctx, o))
	if err == nil {
		err = p.countLosses()
	}
	if err != nil {
		p.Discard()
		return nil, oneLine(err)
	}
	return p, nil
}

func (p *Providers) startMetrics(ctx context.Context) error {
	options := []sdkmetric.Option{sdkmetric.WithResource(p.Resource)}
	how, err := choose(metrics)
	if err != nil {
		return err
	}
	if how != none {
		e, err := metricExporter(ctx, how)
		if err != nil {
			return fmt.Errorf("make metric exporter: %w", err)
		}
		reader := sdkmetric.NewPeriodicReader(countedMetrics{e, &p.metrics})
		options = append(options, sdkmetric.WithReader(reader))
	}
	p.Meter = sdkmetric.NewMeterProvider(options...)
	return nil
}

// Defaults of the specification for both batch processors.
const (
	defaultQueue = 2048
	defaultBatch = 512
)

func (p *Providers) startLogs(ctx context.Context, o Options) error {
	options := []sdklog.LoggerProviderOption{sdklog.WithResource(p.Resource)}
	if o.UniqueKeys {
		options = append(options, sdklog.WithAllowKeyDuplication())
	}
	how, err := choose(logs)
	if err != nil {
		return err
	}
	if how != none {
		e, err := logExporter(ctx, how)
		if err != nil {
			return fmt.Errorf("make log exporter: %w", err)
		}
		queue := size("OTEL_BLRP_MAX_QUEUE_SIZE", cmp.Or(o.LogQueue, defaultQueue))
		batch := min(queue, size("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", defaultBatch))
		p.logs.tally.room = uint64(queue + batch)
		batcher := sdklog.NewBatchProcessor(countedLogs{e, &p.logs},
			sdklog.WithMaxQueueSize(queue), sdklog.WithExportMaxBatchSize(batch))
		options = append(options, sdklog.WithProcessor(countedEmits{batcher, &p.logs.tally}))
	}
	p.Logger = sdklog.NewLoggerProvider(options...)
	return nil
}

func (p *Providers) startTraces(ctx context.Context, o Options) error {
	if !o.Traces {
		return nil
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(p.Resource)}
	how, err := choose(traces)
	if err != nil {
		return err
	}
	if how == none {
		options = append(options, sdktrace.WithSampler(sdktrace.NeverSample()))
	} else {
		e, err := spanExporter(ctx, how)
		if err != nil {
			return fmt.Errorf("make span exporter: %w", err)
		}
		queue := size("OTEL_BSP_MAX_QUEUE_SIZE", cmp.Or(o.SpanQueue, defaultQueue))
		batch := min(queue, size("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", defaultBatch))
		p.spans.tally.room = uint64(queue + batch)
		batcher := sdktrace.NewBatchSpanProcessor(countedSpans{e, &p.spans},
			sdktrace.WithMaxQueueSize(queue), sdktrace.WithMaxExportBatchSize(batch))
		var first sdktrace.SpanProcessor = countedEnds{batcher, &p.spans.tally}
		if o.Spans != nil {
			first = o.Spans(first)
		}
		options = append(options, sdktrace.WithSpanProcessor(first))
	}
	p.Tracer = sdktrace.NewTracerProvider(options...)
	return nil
}

func choose(s signal) (protocol, error) {
	if disabled() {
		return none, nil
	}
	return protocolOf(s)
}

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
	dropped, err := m.Int64ObservableCounter(stall.MetricDropped, metric.WithUnit("{item}"),
		metric.WithDescription("Anything that was not kept, by what and why."))
	if err != nil {
		return fmt.Errorf("make instrument %s: %w", stall.MetricDropped, err)
	}
	of := func(item, why string) metric.ObserveOption {
		return metric.WithAttributeSet(attribute.NewSet(
			attribute.String(stall.AttrItem, item), attribute.String(stall.AttrErrorType, why)))
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
