package otelgc

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// rounds is how many windows a benchmark ends before they are resolved: it
// measures the path of a request, not that of one that finds the queue full.
const rounds = 4096

// local is the context of a span that the SDK made, as a handler has it behind
// otelhttp.
func local() context.Context {
	ctx, _ := sdktrace.NewTracerProvider().Tracer("bench").Start(context.Background(), "span")
	return ctx
}

// remote is that of one that came from elsewhere, and was not made anew.
func remote() context.Context {
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled,
	}))
}

// BenchmarkWindow measures Begin and End. Outside of a slice is where a service
// is nearly always.
func BenchmarkWindow(b *testing.B) {
	b.Run("clock", func(b *testing.B) { // what its two readings of the clock cost here
		m := startBench(b, WithExactBudget(0))
		for b.Loop() {
			_, _ = m.now(), m.now()
		}
	})
	for _, c := range []struct {
		name   string
		budget float64
		span   context.Context
	}{{"outside", 0, local()}, {"outside_remote", 0, remote()}, {"outside_no_span", 0, context.Background()}, {"inside", 1, local()}} {
		b.Run(c.name, func(b *testing.B) {
			budget, span := c.budget, c.span
			m := startBench(b, WithExactBudget(budget))
			for budget > 0 && !m.exact.marking() {
				time.Sleep(time.Millisecond)
			}
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				w := m.Begin(span)
				w.End()
				if n++; n%rounds == 0 && budget == 0 {
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

// BenchmarkWindowsAtOnce is BenchmarkWindow outside of a slice, on all CPUs at
// the same time: nanoseconds are of all of them together.
func BenchmarkWindowsAtOnce(b *testing.B) {
	span := local()
	m := startBench(b, WithExactBudget(0))
	procs := runtime.GOMAXPROCS(0)
	for left := b.N; left > 0; left -= rounds {
		var wg sync.WaitGroup
		for range procs {
			wg.Go(func() {
				for range (min(left, rounds) + procs - 1) / procs {
					w := m.Begin(span)
					w.End()
				}
			})
		}
		wg.Wait()
		b.StopTimer()
		_ = m.Flush(context.Background())
		b.StartTimer()
	}
}
