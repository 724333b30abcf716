package otelgc

import (
	"context"
	"runtime"
	"slices"
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

// batch is how many windows are timed at once. The least of many batches is what
// they cost where all that they touch is at hand, also on a machine that is busy
// with others; the median is what they cost where the resolver has read the cells
// on another CPU, as it has in a service.
const batch = 256

// measure does one as often as is asked for, and rest now and then, off the clock.
func measure(b *testing.B, one, rest func()) {
	b.ReportAllocs()
	var took []time.Duration
	b.ResetTimer()
	for done := 0; done < b.N; {
		begin := time.Now()
		for range batch {
			one()
		}
		took = append(took, time.Since(begin))
		if done += batch; done%rounds == 0 {
			b.StopTimer()
			rest()
			b.StartTimer()
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[0])/batch, "least-ns/op")
	b.ReportMetric(float64(took[len(took)/2])/batch, "median-ns/op")
}

// BenchmarkWindow measures Begin and End, and the two readings of the clock that
// are part of them. Outside of a slice is where a service is nearly always.
func BenchmarkWindow(b *testing.B) {
	b.Run("clock", func(b *testing.B) {
		m := startBench(b, WithExactBudget(0))
		measure(b, func() { _, _ = m.path.now(), m.path.now() }, func() {})
	})
	for _, c := range []struct {
		name   string
		budget float64
		span   context.Context
	}{{"outside", 0, local()}, {"outside_remote", 0, remote()}, {"outside_no_span", 0, context.Background()}, {"inside", 1, local()}} {
		b.Run(c.name, func(b *testing.B) {
			budget, span := c.budget, c.span
			m := startBench(b, WithExactBudget(budget))
			for budget > 0 && !m.exact.Marking() {
				time.Sleep(time.Millisecond)
			}
			measure(b, func() {
				w := m.Begin(span)
				w.End()
			}, func() {
				if budget == 0 {
					_ = m.Flush(context.Background())
				}
			})
			if budget > 0 && !m.exact.Marking() {
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
