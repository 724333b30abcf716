package main

import (
	"context"
	"runtime/trace"
	"sync/atomic"

	"github.com/otelgc/otelgc/bench/service/shop"
)

// count is a writer that drops what it counts.
type count struct{ atomic.Int64 }

func (c *count) Write(b []byte) (int, error) {
	c.Add(int64(len(b)))
	return len(b), nil
}

var traceBytes count

// written returns, as requests, the bytes of the trace that was not sent anywhere.
func written(func() shop.Usage) (u shop.Usage, err error) {
	u.Served = traceBytes.Load()
	return u, nil
}

// traced has an execution trace always on.
func traced(context.Context) (around, error) {
	return around{stop: func(context.Context) error { trace.Stop(); return nil }}, trace.Start(&traceBytes)
}

// recorded has the runtime's flight recorder always on, which keeps the last seconds of a
// trace in memory.
func recorded(context.Context) (around, error) {
	r := trace.NewFlightRecorder(trace.FlightRecorderConfig{})
	return around{stop: func(context.Context) error { r.Stop(); return nil }}, r.Start()
}
