package telemetry

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

func tracedAt(us int64, d time.Duration) *semconv.Traced {
	start := stall.Instant(us * 1000)
	return &semconv.Traced{Span: stall.Span{Start: start, End: start.Add(d)}, Task: "GET /", Share: stall.Share{Total: d, App: d, Fidelity: stall.Exact}}
}

// TestTracedHoldsTheWatermark: the source that answers for a traced request does not pass it
// before its event was sent.
func TestTracedHoldsTheWatermark(t *testing.T) {
	r := newRig(t, Options{})
	r.Traced(tracedAt(5_000, time.Millisecond), stall.GoUprobe)
	watermark := func(s stall.Origin, own int64) int64 {
		r.events.taken()
		r.Status(semconv.Status{Origin: s, Since: 1, At: 9_000_000, Watermark: stall.Instant(own)})
		v, _ := attr(r.events.taken()[0], semconv.AttrWatermark)
		return v.AsInt64()
	}
	if got := watermark(stall.GoUprobe, 8_000_000); got != 5_000_000 {
		t.Errorf("watermark of the source that answers: %d, want the start of the request", got)
	}
	if got := watermark(stall.ProbeSpin, 8_000_000); got != 8_000_000 {
		t.Errorf("watermark of another source: %d, want its own", got)
	}
	if got := r.nextSecond(); len(got) != 1 || got[0].EventName() != semconv.EventTraced {
		t.Fatalf("sent %v, want the request", lengths(got))
	}
	if got := watermark(stall.GoUprobe, 8_500_000); got != 8_500_000 {
		t.Errorf("watermark after the request was sent: %d, want that of the source", got)
	}
}

// TestTracedGoFirst: over the limit of events the shortest requests go, before any stall; they
// are counted, and no source has lost anything.
func TestTracedGoFirst(t *testing.T) {
	r := newRig(t, Options{MaxEventsPerSecond: 3})
	for i := range int64(5) {
		r.Traced(tracedAt(1000*i+1, time.Duration(5-i)*time.Millisecond), stall.GoUprobe)
	}
	r.Gap(gapAt(100, 60*time.Microsecond, stall.ProbeSpin), nothing)
	want := []string{"otelgc.request.traced 5ms", "otelgc.jitter.gap 60µs", "otelgc.request.traced 4ms"}
	if diff := cmp.Diff(want, lengths(r.nextSecond())); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	if got := r.Losses()[[2]string{itemEvent, whyRate}]; got != 3 {
		t.Errorf("%d events are counted as over the limit, want 3", got)
	}
	if got := r.Loss(stall.GoUprobe); got != (source.Loss{}) {
		t.Errorf("gouprobe lost %+v, want nothing", got)
	}
}
