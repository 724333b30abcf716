package spans

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/semconv"
)

// TestDecorates: spans come out of an ordinary exporter with their own
// attributes and ours, and the parts of their time sum to their length.
func TestDecorates(t *testing.T) {
	for name, budget := range map[string]float64{"cycle": 0, "exact": 1} {
		t.Run(name, func(t *testing.T) {
			noleak.Check(t)
			m := start(t, otelgc.WithExactBudget(budget))
			out := tracetest.NewInMemoryExporter()
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewProcessor(m, sdktrace.NewSimpleSpanProcessor(out))))
			tracer := tp.Tracer("test")
			turn := func() tracetest.SpanStubs {
				out.Reset()
				ctx, outer := tracer.Start(context.Background(), "outer", trace.WithAttributes(attribute.String("own", "kept")))
				_, inner := tracer.Start(ctx, "inner")
				for range 3 {
					runtime.GC()
				}
				inner.End()
				outer.End()
				if budget > 0 { // what is known when it is known, not at once
					resume, err := m.PauseExact(context.Background()) // the slice is over
					if err != nil {
						t.Fatal(err)
					}
					resume()
					if err := m.Flush(context.Background()); err != nil {
						t.Fatal(err)
					}
					waitUntil(t, func() bool { return len(out.GetSpans()) == 2 })
				}
				if err := tp.ForceFlush(context.Background()); err != nil {
					t.Fatal(err)
				}
				return out.GetSpans()
			}
			var got []sdktrace.ReadOnlySpan
			waitUntil(t, func() bool { // a slice may begin late, or end in the midst of them
				got = turn().Snapshots()
				return budget == 0 || !slices.ContainsFunc(got, func(s sdktrace.ReadOnlySpan) bool {
					f, _ := valueOf(s, semconv.AttrFidelity)
					return f.AsString() != "exact"
				})
			})
			if len(got) != 2 {
				t.Fatalf("%d spans, want 2", len(got))
			}
			for _, s := range got {
				checkSpan(t, s)
				if n, _ := valueOf(s, semconv.AttrGCOverlap); budget > 0 && n.AsString() != "several_collections" {
					t.Errorf("%s: overlap %s, want several: %v", s.Name(), n.AsString(), s.Attributes())
				}
			}
			if own, _ := valueOf(got[1], "own"); own.AsString() != "kept" {
				t.Errorf("attributes of %s: %v", got[1].Name(), got[1].Attributes())
			}
			if err := tp.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			if err := m.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func checkSpan(t *testing.T, s sdktrace.ReadOnlySpan) {
	t.Helper()
	for _, key := range []string{
		semconv.AttrStallPrefix + "unseen", semconv.AttrCoverage, semconv.AttrGCOverlap, semconv.AttrFidelity, semconv.AttrProcessPID,
	} {
		if _, ok := valueOf(s, key); !ok {
			t.Errorf("%s has no %s: %v", s.Name(), key, s.Attributes())
		}
	}
	var sum float64
	for _, kv := range s.Attributes() {
		if key := string(kv.Key); strings.HasPrefix(key, semconv.AttrStallPrefix) && key != semconv.AttrCoverage {
			sum += kv.Value.AsFloat64()
		}
	}
	if whole := s.EndTime().Sub(s.StartTime()).Seconds(); math.Abs(sum-whole) > 1e-6 {
		t.Errorf("%s: the parts of %v s sum to %v s: %v", s.Name(), whole, sum, s.Attributes())
	}
}

// TestNothingIsLost under many spans of many goroutines, with flushes in
// between, and the monitor's end before the processor's.
func TestNothingIsLost(t *testing.T) {
	for _, monitorFirst := range []bool{true, false} {
		t.Run(fmt.Sprintf("monitor first %v", monitorFirst), func(t *testing.T) {
			noleak.Check(t)
			m := start(t, otelgc.WithExactBudget(1))
			var out counter
			tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(NewProcessor(m, &out)))
			tracer := tp.Tracer("test")
			const goroutines, each = 8, 2000
			var wg sync.WaitGroup
			for range goroutines {
				wg.Go(func() {
					for i := range each {
						ctx, s := tracer.Start(context.Background(), "outer")
						_, inner := tracer.Start(ctx, "inner")
						inner.End()
						s.End()
						if i%500 == 0 {
							_ = tp.ForceFlush(context.Background())
						}
					}
				})
			}
			if monitorFirst {
				if err := m.Shutdown(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			wg.Wait()
			if err := tp.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
			if got, want := out.all.Load(), int64(2*goroutines*each); got != want {
				t.Errorf("%d spans came out, want %d", got, want)
			}
			if !monitorFirst && out.plain.Load() != 0 {
				t.Errorf("%d spans came out undecorated", out.plain.Load())
			}
			if err := m.Shutdown(context.Background()); err != nil {
				t.Fatal(err)
			}
		})
	}
}
