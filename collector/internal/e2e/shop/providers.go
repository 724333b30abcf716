package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/otelgc/otlp"
)

// patience is how long the shop tries to hand over what is left. Those that
// otlp.Start makes give up after seconds, which a slow machine may need: what is
// compared with an answer must not be lost.
const patience = 4 * time.Minute

// providers are the shop's own.
type providers struct {
	resource *resource.Resource
	meters   *sdkmetric.MeterProvider
	loggers  *sdklog.LoggerProvider
	spans    sdktrace.SpanProcessor
	lost     *losses
}

func newProviders(ctx context.Context, s *shop) (*providers, error) {
	p := &providers{lost: &losses{}}
	otel.SetErrorHandler(p.lost)
	var err error
	if p.resource, err = resource.New(ctx, resource.WithFromEnv(), resource.WithDetectors(otlp.Detector())); err != nil {
		return nil, err
	}
	metrics, err := otlpmetricgrpc.New(ctx)
	if err != nil {
		return nil, err
	}
	logs, err := otlploggrpc.New(ctx)
	if err != nil {
		return nil, err
	}
	traces, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nil, err
	}
	p.meters = sdkmetric.NewMeterProvider(sdkmetric.WithResource(p.resource), sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	p.loggers = sdklog.NewLoggerProvider(sdklog.WithResource(p.resource), sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)))
	when := []sdktrace.BatchSpanProcessorOption{sdktrace.WithBlocking()}
	if s.last { // not before the shutdown
		when = append(when, sdktrace.WithBatchTimeout(24*time.Hour),
			sdktrace.WithMaxQueueSize(2*s.requests), sdktrace.WithMaxExportBatchSize(2*s.requests))
	}
	p.spans = sdktrace.NewBatchSpanProcessor(traces, when...)
	return p, nil
}

// shutdown hands over what is left, and says what could not be handed over since
// the start.
func (p *providers) shutdown(ctx context.Context) error {
	err := p.loggers.Shutdown(ctx)
	p.lost.again()
	return errors.Join(err, p.meters.Shutdown(ctx), p.lost.all())
}

// losses keeps what the SDK says went wrong: it tells nobody else of an export
// that failed. What otelgc says is of what it watches, and no loss: that its two
// sources disagree where somebody had the CPU meanwhile, for one.
type losses struct {
	mu    sync.Mutex
	errs  []error
	ended bool // metrics are exported for the last time
}

// again says that metrics are exported once more. The shutdown of their reader breaks off an
// export that runs: what that had comes with the last one, since they are sums.
func (l *losses) again() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
}

func (l *losses) Handle(err error) {
	if strings.HasPrefix(err.Error(), "otelgc: ") {
		fmt.Fprintln(os.Stderr, "shop:", err)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended && errors.Is(err, context.Canceled) {
		return
	}
	l.errs = append(l.errs, err)
}

func (l *losses) all() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := errors.Join(l.errs...); err != nil {
		return fmt.Errorf("export what was made: %w", err)
	}
	return nil
}
