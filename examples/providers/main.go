// Command providers is a service that has OpenTelemetry already: it hands its own
// providers to otelgc, and its spans say what stalls cost them.
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318 go run ./providers
//	curl -so /dev/null http://127.0.0.1:8080/?kb=512
package main

import (
	"context"
	"errors"
	"net"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/examples/internal/sample"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/otlp"
	"github.com/otelgc/otelgc/otelgc/spans"
)

func main() { sample.Main("127.0.0.1:8080", run) }

func run(ctx context.Context, l net.Listener) error {
	res, resErr := resource.New(ctx, resource.WithFromEnv(),
		// The boot and the process, by which a sidecar's gaps find the service that they
		// belong to.
		resource.WithDetectors(otlp.Detector()))
	metrics, metricErr := otlpmetrichttp.New(ctx)
	logs, logErr := otlploghttp.New(ctx)
	traces, traceErr := otlptracehttp.New(ctx)
	if err := errors.Join(resErr, metricErr, logErr, traceErr); err != nil {
		return err
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithResource(res),
		sdkmetric.WithReader(sdkmetric.NewPeriodicReader(metrics)))
	loggers := sdklog.NewLoggerProvider(sdklog.WithResource(res),
		sdklog.WithProcessor(sdklog.NewBatchProcessor(logs)))

	m, err := otelgc.Start(otelgc.WithMeterProvider(meters), otelgc.WithLoggerProvider(loggers))
	if err != nil {
		return err
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithResource(res),
		sdktrace.WithSpanProcessor(spans.NewProcessor(m, sdktrace.NewBatchSpanProcessor(traces))))

	h := otelhttp.NewHandler(m.Middleware(sample.Handler()), "sample", otelhttp.WithTracerProvider(tracers))
	err = sample.Serve(ctx, l, h)
	return sample.Flush(err, func(ctx context.Context) error {
		// The spans and otelgc first: what they still have goes through the others.
		return errors.Join(tracers.Shutdown(ctx), m.Shutdown(ctx), meters.Shutdown(ctx), loggers.Shutdown(ctx))
	})
}
