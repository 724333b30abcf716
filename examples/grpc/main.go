// Command grpc is a gRPC service in which each call is a window: a stats handler
// on the server, beside that of otelgrpc, and nothing in the methods. It calls
// itself, so that there is something to see.
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 go run ./grpc
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
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

func main() {
	addr := flag.String("addr", "127.0.0.1:50051", "address to listen on; port 0 takes a free one")
	every := flag.Duration("every", 10*time.Millisecond, "time between the calls to itself")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *every); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, addr string, every time.Duration) error {
	m, shutdown, err := otlp.Start(ctx)
	if err != nil {
		return err
	}
	s := grpc.NewServer(
		grpc.StatsHandler(otelgrpc.NewServerHandler()),
		grpc.StatsHandler(gcgrpc.NewServerHandler(m, gcgrpc.WithRoutes())), // the one line
	)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	return sample.Flush(serve(ctx, s, addr, every), shutdown)
}

// serve answers calls, its own among them, until ctx is done.
func serve(ctx context.Context, s *grpc.Server, addr string, every time.Duration) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s\n", l.Addr())
	served := make(chan error, 1)
	go func() { served <- s.Serve(l) }()
	err = call(ctx, l.Addr().String(), every)
	s.Stop()
	return errors.Join(err, <-served)
}

func call(ctx context.Context, addr string, every time.Duration) error {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer conn.Close()
	client := grpc_health_v1.NewHealthClient(conn)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if _, err := client.Check(ctx, &grpc_health_v1.HealthCheckRequest{}); err != nil && ctx.Err() == nil {
			return err
		}
	}
}
