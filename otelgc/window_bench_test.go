package otelgc

import (
	"context"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

// BenchmarkWindow measures Begin and End. Outside of a slice is where a service
// is nearly always.
func BenchmarkWindow(b *testing.B) {
	span := trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
	b.Run("clock", func(b *testing.B) { // what two readings of the clock cost here
		clock, err := stall.NewClock()
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			_, _ = clock.Now(), clock.Now()
		}
	})
	for name, budget := range map[string]float64{"outside": 0, "inside": 1} {
		b.Run(name, func(b *testing.B) {
			m, err := Start(WithBoard(""), WithExactBudget(budget))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = m.Shutdown(context.Background()) }()
			for budget > 0 && !m.exact.marking() {
				time.Sleep(time.Millisecond)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				w := m.Begin(span)
				w.End()
				// The path of a request, not that of one that finds the queue
				// full or its lock held all the time.
				if n++; n%4096 == 0 && budget == 0 {
					b.StopTimer()
					_ = m.Flush(context.Background())
					b.StartTimer()
				}
			}
			if budget > 0 && !m.exact.marking() {
				b.Error("the slice ended")
			}
		})
	}
}
