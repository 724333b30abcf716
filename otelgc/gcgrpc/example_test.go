package gcgrpc_test

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

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
