package telemetry

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/log"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestKeptBackIsUnseen: stops of the world that are kept back by the severity, or
// by the limit of events, are unseen in the statuses of both of Go's sources, and
// not in what comes later.
func TestKeptBackIsUnseen(t *testing.T) {
	c := exactCollection()
	v := stall.Interval{Start: 16_000_000, End: 16_100_000, Slack: 1000, Origin: stall.GCWatch}
	want := []stall.Span{
		{Start: 2_000_000, End: 3_000_000}, // what the source itself did not see
		{Start: 9_999_950, End: 10_041_050}, {Start: 12_999_940, End: 13_070_060},
		{Start: 15_999_000, End: 16_101_000},
	}
	for _, name := range []string{"severity", "limit"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{MaxEventsPerSecond: 1})
			if name == "severity" {
				r.events.least = log.SeverityInfo // that of the status
			}
			r.Collection(&c)
			r.Suspension(v, "", "", stall.Cycle)
			if name == "limit" { // one that matters more takes the one place
				r.Suspension(stall.Interval{Start: 17_000_000, End: 27_000_000, Origin: stall.GCWatch}, "", "", stall.Cycle)
			}
			for _, source := range []stall.Origin{stall.GCWatch, stall.GoTrace} {
				s := semconv.Status{Origin: source, Since: 1, At: 17_000_000, Watermark: 17_000_000, Unseen: want[:1]}
				if diff := cmp.Diff(want, r.unseenOf(t, s)); diff != "" {
					t.Errorf("%v: unseen (-want +got):\n%s", source, diff)
				}
				late := stall.Instant(17_000_000).Add(2 * unsentReach)
				if got := r.unseenOf(t, semconv.Status{Origin: source, Since: late, At: late + 1, Watermark: late + 1}); got != nil {
					t.Errorf("%v: %v are unseen for ever", source, got)
				}
			}
		})
	}
}

// unseenOf sends s, and returns what it names as unseen.
func (r *rig) unseenOf(t *testing.T, s semconv.Status) (spans []stall.Span) {
	t.Helper()
	r.events.taken()
	r.Status(s)
	for _, record := range r.events.taken() {
		starts, _ := attr(record, semconv.AttrUnseenStart)
		ends, _ := attr(record, semconv.AttrUnseenEnd)
		for i, at := range starts.AsInt64Slice() {
			spans = append(spans, stall.Span{Start: stall.Instant(at), End: stall.Instant(ends.AsInt64Slice()[i])})
		}
	}
	return spans
}

// TestToldLateIsUnseen: a stop that is kept back long after it was, as one that
// waited for the better source and then for its turn, is named by as many statuses
// as any.
func TestToldLateIsUnseen(t *testing.T) {
	const second = stall.Instant(1e9)
	stop := stall.Span{Start: second, End: second + 1000}
	r := newRig(t, Options{})
	r.events.least = log.SeverityInfo // that of the status
	r.Suspension(stall.Interval{Start: stop.Start, End: stop.End, Origin: stall.GCWatch}, "", "", stall.Cycle)
	named := 0
	for at := 6 * second; at < 16*second; at += second {
		got := r.unseenOf(t, semconv.Status{Origin: stall.GCWatch, Since: at - second, At: at, Watermark: at})
		if got == nil {
			break
		}
		if diff := cmp.Diff([]stall.Span{stop}, got); diff != "" {
			t.Fatalf("unseen (-want +got):\n%s", diff)
		}
		named++
	}
	if want := int(stall.Instant(unsentReach)/second) + 1; named != want {
		t.Errorf("%d statuses name it, want %d", named, want)
	}
}
