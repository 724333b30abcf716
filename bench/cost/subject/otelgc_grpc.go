//go:build otelgc && grpc

package main

import (
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/gcgrpc"
)

func init() {
	watchGRPC = func(m *otelgc.Monitor) { watchersGRPC = append(watchersGRPC, gcgrpc.NewServerHandler(m)) }
}
