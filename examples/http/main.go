// Command http is the smallest service with otelgc in it: one init call, one
// middleware. Where telemetry goes is said by the OTEL_* environment:
//
//	OTEL_SERVICE_NAME=orders OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 go run ./http
//	curl -so /dev/null http://127.0.0.1:8080/?kb=512
package main

import (
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/otelgc/otelgc/examples/internal/sample"
	"github.com/otelgc/otelgc/otelgc/otlp"
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
	m, shutdown, err := otlp.Start(ctx) // the one call
	if err != nil {
		return err
	}
	err = sample.Serve(ctx, addr, m.Middleware(sample.Handler()))
	return sample.Flush(err, shutdown)
}
