package main

import (
	"testing"

	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/otelgc/otelgc/examples/internal/sink"
)

// TestRun: calls are requests of their method, and the program ends when it is
// told to.
func TestRun(t *testing.T) {
	itself := func(string) error { return nil }
	sink.New(t).Test(t, run, itself, "otelgc.requests", "http.route", grpc_health_v1.Health_Check_FullMethodName)
}
