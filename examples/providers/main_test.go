package main

import (
	"testing"

	"github.com/otelgc/otelgc/examples/internal/sink"
)

// TestRun: requests are counted, and the spans of otelhttp say what stalls cost them.
func TestRun(t *testing.T) {
	sink.New(t).Test(t, run, sink.Get, "otelgc.requests", "otelgc.source.status",
		"http.response.status_code", "otelgc.stall.unseen", "otelgc.stall.coverage", "otelgc.gc.overlap", "otelgc.fidelity", "otelgc.boot.id")
}
