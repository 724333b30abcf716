package gcgrpc_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/gcgrpc"
)

// One line of a server's options.
func ExampleNewServerHandler() {
	m, err := otelgc.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	s := grpc.NewServer(grpc.StatsHandler(gcgrpc.NewServerHandler(m, gcgrpc.WithRoutes())))
	defer s.Stop()
}

// A program whose requests are the calls that it makes.
func ExampleNewClientHandler() {
	m, err := otelgc.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	conn, err := grpc.NewClient("127.0.0.1:50051", grpc.WithStatsHandler(gcgrpc.NewClientHandler(m)),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = conn.Close() }()
}

// A goroutine that a method starts joins the window of its call.
func ExampleContext() {
	_ = func(ctx context.Context) { // the method
		ctx = gcgrpc.Context(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer otelgc.Join(ctx)()
		}()
		<-done
	}
}
