// Command grpc is a gRPC service in which each call is a window: a stats handler
// on the server, beside that of otelgrpc, and nothing in the methods. It calls
// itself, so that there is something to see.
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 go run ./grpc
package main

import (
	"context"
	"net"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/otelgc/otelgc/examples/internal/sample"
	"github.com/otelgc/otelgc/otelgc/gcgrpc"
	"github.com/otelgc/otelgc/otelgc/otlp"
)

func main() { sample.Main("127.0.0.1:50051", run) }

func run(ctx context.Context, l net.Listener) error {
	m, shutdown, err := otlp.Start(ctx)
	if err != nil {
		return err
	}
	s := grpc.NewServer(
		grpc.StatsHandler(otelgrpc.NewServerHandler()),
		grpc.StatsHandler(gcgrpc.NewServerHandler(m, gcgrpc.WithRoutes())), // the one line
	)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	err = call(ctx, l.Addr().String())
	s.Stop()
	if err == nil {
		err = <-served
	}
	return sample.Flush(err, shutdown)
}

// call calls the service until ctx is done.
func call(ctx context.Context, addr string) error {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	for {
		_, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
