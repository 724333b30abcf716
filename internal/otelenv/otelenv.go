// Package otelenv makes OpenTelemetry providers with OTLP exporters from the
// OTEL_* environment, for a program that has none.
//
// What the SDK reads itself stays its own: OTEL_EXPORTER_OTLP_ENDPOINT,
// _HEADERS, _TIMEOUT and so on with their variants per signal,
// OTEL_METRIC_EXPORT_INTERVAL, OTEL_BLRP_*, OTEL_BSP_*, OTEL_TRACES_SAMPLER.
// The default endpoint is http://localhost:4317 (gRPC) or :4318, without TLS, as the
// specification has it and the SDK has not. The package reads what chooses between
// them:
//
//   - OTEL_SDK_DISABLED: true for providers that record nothing
//   - OTEL_EXPORTER_OTLP_PROTOCOL, OTEL_EXPORTER_OTLP_{METRICS,LOGS,TRACES}_PROTOCOL:
//     grpc (default) or http/protobuf
//   - OTEL_METRICS_EXPORTER, OTEL_LOGS_EXPORTER, OTEL_TRACES_EXPORTER: otlp
//     (default) or none
//   - OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
//
// A Collector that is dead or slow costs records, never time or memory: queues
// are bounded, [Providers.Shutdown] has a limit, and what was lost is counted
// and exported as otelgc.monitor.dropped. Nothing global is set or read but the
// environment.
//
// Contrib's autoexport does not fit: it returns metrics as a Reader, whose exporter's
// losses cannot be counted, and it links a Prometheus server.
package otelenv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Options says what the environment does not.
type Options struct {
	// ServiceName is the service.name if the environment names none; the
	// SDK's unknown_service if empty.
	ServiceName string
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
	// is taken at once, and a quarter more for what is exported together.
	LogQueue int
	// Traces asks for a provider of tracers.
	Traces bool
	// SpanQueue is how many spans may wait for their export if the environment
	// does not say; the SDK's 2048 if zero.
	SpanQueue int
}

// ShutdownTimeout bounds [Providers.Shutdown], whatever the Collector does.
const ShutdownTimeout = 5 * time.Second

// Providers are the providers of one program.
type Providers struct {
	Meter  *sdkmetric.MeterProvider
	Logger *sdklog.LoggerProvider
	Tracer *sdktrace.TracerProvider // nil without Options.Traces
	// Spans exports spans, nil if they are not to be exported. It is for the caller to
	// register with Tracer, by itself or behind another processor.
	Spans    sdktrace.SpanProcessor
	Resource *resource.Resource

	limit                time.Duration // of Shutdown
	stop                 context.CancelFunc
	metrics, logs, spans pipeline
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
	e, ok, err := metricExporter(ctx)
	if err != nil {
		return err
	}
	if ok {
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(countedMetrics{e, &p.metrics})))
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
	e, ok, err := logExporter(ctx)
	if err != nil {
		return err
	}
	if ok {
		queue := size("OTEL_BLRP_MAX_QUEUE_SIZE", cmp.Or(o.LogQueue, defaultQueue))
		batch := min(queue, size("OTEL_BLRP_MAX_EXPORT_BATCH_SIZE", cmp.Or(o.LogQueue/4, defaultBatch)))
		p.logs.room = uint64(queue + batch)
		batcher := sdklog.NewBatchProcessor(countedLogs{e, &p.logs},
			sdklog.WithMaxQueueSize(queue), sdklog.WithExportMaxBatchSize(batch))
		options = append(options, sdklog.WithProcessor(countedEmits{batcher, &p.logs}))
	}
	p.Logger = sdklog.NewLoggerProvider(options...)
	return nil
}

func (p *Providers) startTraces(ctx context.Context, o Options) error {
	if !o.Traces {
		return nil
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithResource(p.Resource)}
	e, ok, err := spanExporter(ctx)
	if err != nil {
		return err
	}
	if ok {
		queue := size("OTEL_BSP_MAX_QUEUE_SIZE", cmp.Or(o.SpanQueue, defaultQueue))
		batch := min(queue, size("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", defaultBatch))
		p.spans.room = uint64(queue + batch)
		batcher := sdktrace.NewBatchSpanProcessor(countedSpans{e, &p.spans},
			sdktrace.WithMaxQueueSize(queue), sdktrace.WithMaxExportBatchSize(batch))
		p.Spans = countedEnds{batcher, &p.spans}
	} else {
		options = append(options, sdktrace.WithSampler(sdktrace.NeverSample()))
	}
	p.Tracer = sdktrace.NewTracerProvider(options...)
	return nil
}

// Shutdown exports what is held and ends the providers, within ctx and
// [ShutdownTimeout]. A second call returns what the first did.
func (p *Providers) Shutdown(ctx context.Context) error {
	p.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, p.limit)
		defer cancel()
		defer p.stop()
		// Metrics last, and with some time left: they say what the others lost.
		deadline, _ := ctx.Deadline()
		early, done := context.WithTimeout(ctx, time.Until(deadline)*3/4)
		defer done()
		var wait sync.WaitGroup
		var logErr, spanErr, metricErr error
		if p.Logger != nil {
			wait.Go(func() { logErr = end(early, "logs", p.Logger.Shutdown) })
		}
		if p.Tracer != nil {
			wait.Go(func() { spanErr = end(early, "spans", p.Tracer.Shutdown) })
		}
		wait.Wait()
		p.logs.over.Store(true)
		p.spans.over.Store(true)
		if p.Meter != nil {
			metricErr = end(ctx, "metrics", p.Meter.Shutdown)
		}
		p.metrics.over.Store(true)
		p.err = Join(logErr, spanErr, metricErr)
		if errors.Is(p.err, context.DeadlineExceeded) { // the SDK's says only that the time was over
			p.err = fmt.Errorf("%w: does the Collector at %s answer?", p.err, collector())
		}
	})
	return p.err
}

// end shuts a provider down and stops waiting for it when ctx ends: an export under
// way may take its own timeout before it looks.
func end(ctx context.Context, what string, shutdown func(context.Context) error) error {
	result := make(chan error, 1)
	go func() { result <- shutdown(ctx) }()
	var err error
	select {
	case err = <-result:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("end %s: %w", what, err)
	}
	return nil
}

// Discard ends the providers without exporting anything.
func (p *Providers) Discard() {
	p.stop()
	_ = p.Shutdown(context.Background()) // its exports are canceled: the error says so
	if p.Spans != nil {
		_ = p.Spans.Shutdown(context.Background()) // if it was not registered
	}
}

// Join is [errors.Join] with a text of one line.
func Join(errs ...error) error { return oneLine(errors.Join(errs...)) }

// oneLine returns err with a text of one line; the SDK joins errors by line.
func oneLine(err error) error {
	if err == nil || !strings.Contains(err.Error(), "\n") {
		return err
	}
	return lineError{err}
}

type lineError struct{ error }

func (e lineError) Error() string {
	lines := strings.FieldsFunc(e.error.Error(), func(r rune) bool { return r == '\n' })
	return strings.Join(slices.Compact(lines), "; ") // three signals may say the same
}

func (e lineError) Unwrap() error { return e.error }
