package telemetry

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// TestSlowKeptBack: a slow request is no stall, so that no source has lost
// anything when its event is kept back.
func TestSlowKeptBack(t *testing.T) {
	r := newRig(t, Options{MaxEventsPerSecond: 1})
	for _, d := range []time.Duration{5 * time.Millisecond, 6 * time.Millisecond} {
		s := stall.Share{Total: d}
		r.Slow(&semconv.Slow{Share: &s, Sentence: "slow"}, trace.SpanContext{}, &stall.Window{Start: 1, End: stall.Instant(1).Add(d)}, stall.GCWatch)
	}
	if got := r.Loss(stall.GCWatch); got != (source.Loss{}) {
		t.Errorf("gcwatch lost %+v, want nothing", got)
	}
	if got, want := r.Loss(stall.NoOrigin), (source.Loss{Count: 1, Time: 5 * time.Millisecond}); got != want {
		t.Errorf("of no source %+v are lost, want %+v", got, want)
	}
}
