// Command spans has no code of otelgc in its handlers: its spans come from
// otelhttp, and a span processor gives each the time that stalls cost it.
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 go run ./spans
//	curl -so /dev/null http://127.0.0.1:8080/?kb=512
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/examples/internal/sample"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/spans"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr string) error {
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return err
	}
	m, err := otelgc.Start() // its metrics and events go to the global providers, of which there are none here
	if err != nil {
		return errors.Join(err, exporter.Shutdown(ctx))
	}
	tracers := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(spans.NewProcessor(m, sdktrace.NewBatchSpanProcessor(exporter))), // the one line
	)
	h := otelhttp.NewHandler(sample.Handler(), "sample", otelhttp.WithTracerProvider(tracers))
	err = sample.Serve(ctx, addr, h)
	return sample.Flush(err, func(ctx context.Context) error {
		return errors.Join(tracers.Shutdown(ctx), m.Shutdown(ctx))
	})
}
