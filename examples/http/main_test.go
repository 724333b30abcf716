package main

import (
	"testing"

	"github.com/otelgc/otelgc/examples/internal/sink"
)

// TestRun: a request is counted.
func TestRun(t *testing.T) {
	sink.New(t).Test(t, run, sink.Get, "otelgc.requests", "otelgc.request.stall.time")
}
