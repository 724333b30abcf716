package main

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/examples/internal/sink"
)

// TestRun: jobs are requests of a route, and a slow one is explained.
func TestRun(t *testing.T) {
	s := sink.New(t)
	queue := make(chan int, 200)
	for i := range cap(queue) {
		queue <- i
	}
	close(queue)
	if err := run(t.Context(), queue, time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	s.Wait(t, "otelgc.requests", "http.route", "job", "otelgc.request.slow", "otelgc.sentence")
}
