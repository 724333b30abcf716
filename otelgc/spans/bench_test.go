//go:build unix

package spans

import (
	"context"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/otelgc"
)

// cpuTime returns the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkProcessor measures what the processor adds to a span in CPU time: both
// calls, the join, the way to next, and inside of a slice the trace and its
// decoder. The time that the resolver rests is nobody's. All spans are decorated.
func BenchmarkProcessor(b *testing.B) {
	for name, budget := range map[string]float64{"outside": 0, "inside": 1} {
		b.Run(name, func(b *testing.B) {
			m, err := otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(budget))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = m.Shutdown(context.Background()) }()
			var out counter
			p := NewProcessor(m, &out)
			s := capture()
			if budget > 0 {
				waitFollowed(b, m)
			}
			ctx, n, begin := context.Background(), 0, cpuTime(b)
			b.ReportAllocs()
			for b.Loop() {
				p.OnStart(ctx, s)
				p.OnEnd(s)
				if n++; n%8192 == 0 {
					_ = p.ForceFlush(ctx)
				}
			}
			_ = p.ForceFlush(ctx)
			b.ReportMetric(float64(n)/(cpuTime(b)-begin).Seconds(), "spans/cpu-s")
			if out.plain.Load() != 0 {
				b.Errorf("%d spans went past undecorated", out.plain.Load())
			}
			_ = p.Shutdown(ctx)
		})
	}
}

// capture returns a span of the SDK that has ended.
func capture() sdktrace.ReadWriteSpan {
	var c catcher
	_, s := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(&c)).Tracer("test").Start(context.Background(), "s")
	s.End()
	return c.span
}

type catcher struct {
	counter
	span sdktrace.ReadWriteSpan
}

func (c *catcher) OnStart(_ context.Context, s sdktrace.ReadWriteSpan) { c.span = s }
