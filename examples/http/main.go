// Command http is the smallest service with otelgc in it: one init call, one
// middleware. The OTEL_* environment says where telemetry goes:
//
//	OTEL_SERVICE_NAME=orders OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 go run ./http
//	curl -so /dev/null http://127.0.0.1:8080/?kb=512
package main

import (
	"context"
	"net"

	"github.com/otelgc/otelgc/examples/internal/sample"
	"github.com/otelgc/otelgc/otelgc/otlp"
)

func main() { sample.Main("127.0.0.1:8080", run) }

func run(ctx context.Context, l net.Listener) error {
	m, shutdown, err := otlp.Start(ctx) // the one call
	if err != nil {
		return err
	}
	err = sample.Serve(ctx, l, m.Middleware(sample.Handler()))
	return sample.Flush(err, shutdown)
}
