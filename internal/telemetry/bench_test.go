package telemetry

import (
	"context"
	"testing"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelgc/otelgc/stall"
)

// sink takes events as a batch processor does.
type sink struct{ n int }

func (*sink) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (*sink) Shutdown(context.Context) error                         { return nil }
func (*sink) ForceFlush(context.Context) error                       { return nil }

func (s *sink) OnEmit(_ context.Context, r *sdklog.Record) error {
	_ = r.Clone()
	s.n++
	return nil
}

func benchTelemetry(b *testing.B, events *sink) *Telemetry {
	b.Helper()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	logs := sdklog.NewLoggerProvider(sdklog.WithProcessor(events), sdklog.WithAllowKeyDuplication())
	t, err := New(Options{Meter: meters.Meter("otelgc"), Logger: logs.Logger("otelgc"), BootID: bootID, PID: 7})
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// BenchmarkGap is the commonest gap: short, and not the longest of its second.
func BenchmarkGap(b *testing.B) {
	t := benchTelemetry(b, &sink{})
	t.Gap(gapAt(1, 49*time.Microsecond, stall.ProbeSpin), nothing)
	v := gapAt(1, 10*time.Microsecond, stall.ProbeSpin)
	b.ReportAllocs()
	for b.Loop() {
		t.Gap(v, nothing)
	}
}

// BenchmarkEvent is a gap that becomes an event, a hundred of them a second.
func BenchmarkEvent(b *testing.B) {
	events := &sink{}
	t := benchTelemetry(b, events)
	now := t.events.since
	b.ReportAllocs()
	for n := 1; b.Loop(); n++ {
		t.Gap(gapAt(int64(n), 60*time.Microsecond, stall.ProbeSpin), nothing)
		if n%100 == 0 {
			now = now.Add(time.Second)
			t.Tick(now)
		}
	}
	if want := b.N / 100 * 100; events.n != want {
		b.Errorf("%d events, want %d", events.n, want)
	}
}
