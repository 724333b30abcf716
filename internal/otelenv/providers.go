package otelenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// ShutdownTimeout bounds [Providers.Shutdown], whatever the Collector does.
const ShutdownTimeout = 5 * time.Second

// ScopeName is the scope of the counter of what the exporters lost.
const ScopeName = "github.com/otelgc/otelgc/internal/otelenv"

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
		batch := min(queue, size("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", cmp.Or(o.LogQueue/4, defaultBatch)))
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
