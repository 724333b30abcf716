package stallconnector

import (
	"context"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// BenchmarkConsume is one batch of 512 spans, held and handed on, of which as many
// are under way as an agent or two send at a time: with senders that have their
// answer when it is held, and with senders that wait for the result.
func BenchmarkConsume(b *testing.B) {
	const spans, senders = 512, 64
	batch := request()
	list := batch.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	for i := int64(1); i < spans; i++ {
		s := list.AppendEmpty()
		list.At(0).CopyTo(s)
		s.SetStartTimestamp(pcommon.Timestamp(now + i*1e6))
		s.SetEndTimestamp(pcommon.Timestamp(now + i*1e6 + 3e6))
	}
	for _, x := range []struct {
		name string
		wait bool
	}{{"held", false}, {"waited for", true}} {
		b.Run(x.name, func(b *testing.B) {
			config := createDefaultConfig().(*Config)
			config.WaitForResult = x.wait
			f, ctx := NewFactory(), context.Background()
			taken := &counter{Consumer: consumertest.NewNop()}
			traces, err := f.CreateTracesToTraces(ctx, settings(), config, taken)
			if err != nil {
				b.Fatal(err)
			}
			events, err := f.CreateLogsToTraces(ctx, settings(), config, consumertest.NewNop())
			if err != nil {
				b.Fatal(err)
			}
			stop := lifecycle(b, traces, events)
			if err := events.ConsumeLogs(ctx, watched()); err != nil {
				b.Fatal(err)
			}
			var sent atomic.Int64
			var wg sync.WaitGroup
			used, alive := cpuTime(b), uint64(0)
			b.ResetTimer()
			for range senders {
				wg.Go(func() {
					for n := sent.Add(spans); n <= int64(b.N)*spans; n = sent.Add(spans) {
						for n-taken.spans.Load() > senders*spans {
							time.Sleep(time.Millisecond)
						}
						td := ptrace.NewTraces()
						batch.CopyTo(td) // as the receiver makes it
						if err := traces.ConsumeTraces(ctx, td); err != nil {
							b.Error(err)
						}
					}
				})
			}
			quit := make(chan struct{})
			var watch sync.WaitGroup
			watch.Go(func() {
				for {
					select {
					case <-quit:
						return
					case <-time.After(10 * time.Millisecond):
						alive = max(alive, live())
					}
				}
			})
			wg.Wait()
			stop()
			close(quit)
			watch.Wait()
			b.StopTimer()
			all := float64(b.N * spans)
			if got := taken.spans.Load(); float64(got) != all {
				b.Errorf("%d spans came, want %v", got, all)
			}
			b.ReportMetric(all/b.Elapsed().Seconds(), "spans/s")
			b.ReportMetric(all/(cpuTime(b)-used).Seconds(), "spans/cpu-s")
			b.ReportMetric(float64(alive)/(1<<20), "live-MiB")
		})
	}
}

// counter takes spans and forgets them.
type counter struct {
	consumertest.Consumer
	spans atomic.Int64
}

func (c *counter) ConsumeTraces(_ context.Context, td ptrace.Traces) error {
	c.spans.Add(int64(td.SpanCount()))
	return nil
}

// live returns what the last collection found alive.
func live() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
