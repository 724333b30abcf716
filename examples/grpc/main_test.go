package main

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/otelgc/otelgc/examples/internal/sink"
)

// TestRun: calls are requests of their method, and the program ends when it is
// told to.
func TestRun(t *testing.T) {
	s := sink.New(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan error, 1)
	go func() { done <- run(ctx, "127.0.0.1:0", time.Millisecond) }()
	s.Wait(t, "otelgc.requests", "http.route", grpc_health_v1.Health_Check_FullMethodName)
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
