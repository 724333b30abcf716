// Command providers is a service that has OpenTelemetry already: it makes its
// own providers and hands them to otelgc.
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 go run ./providers
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

	"github.com/otelgc/otelgc/examples/internal/sample"
	"github.com/otelgc/otelgc/otelgc"
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
	p, err := newProviders(ctx, "providers-example")
	if err != nil {
		return err
	}
	m, err := otelgc.Start(
		otelgc.WithMeterProvider(p.meters),
		otelgc.WithLoggerProvider(p.loggers),
	)
	if err != nil {
		return sample.Flush(err, p.shutdown)
	}
	err = sample.Serve(ctx, addr, m.Middleware(sample.Handler()))
	return sample.Flush(err, func(ctx context.Context) error {
		// otelgc first: what it still has to say goes through the providers.
		return errors.Join(m.Shutdown(ctx), p.shutdown(ctx))
	})
}
