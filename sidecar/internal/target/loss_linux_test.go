package target

import (
	"testing"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// newOpen returns a process that cannot be seen, with an output.
func newOpen(t *testing.T) (*process, *rig) {
	t.Helper()
	r := newRig(t, Options{})
	p := newProcess(r.o, dotnetipc.Identity{})
	p.source = dotnet.New(p.Options)
	if _, err := p.open(t.Context(), dotnetipc.ProcessInfo{PID: 42}); err != nil {
		t.Fatal(err)
	}
	return p, r
}

// TestStopIsExported: a stop that is not for a collection is one in the summary, and an
// event.
func TestStopIsExported(t *testing.T) {
	p, r := newOpen(t)
	at := r.o.Clock.Now()
	s := dotnetgc.Stop{Reason: dotnetgc.Other, Begin: at, Suspended: at + 10_000, RestartBegin: at + 50_000}
	p.take(t.Context(), &source.Batch{Intervals: []stall.Interval{s.Interval()}}, &dotnet.Observations{Stops: []dotnetgc.Stop{s}})
	if p.summary.Suspensions != 1 || p.summary.SuspensionSum != 50_000 {
		t.Errorf("summary: got %+v, want one suspension of 50µs", p.summary)
	}
	if err := p.output.close(); err != nil {
		t.Fatal(err)
	}
	events := r.events(semconv.EventSuspension)
	if len(events) != 1 || integer(events[0], semconv.AttrEnd) != int64(at+50_000) {
		t.Errorf("suspensions: got %v, want one to %d", events, at+50_000)
	}
}

// TestLossIsReported: what the runtime dropped is counted in the summary, the metric,
// the status and the log.
func TestLossIsReported(t *testing.T) {
	p, r := newOpen(t)
	b := source.Batch{}
	b.Lost.Count = 37
	p.take(t.Context(), &b, &dotnet.Observations{Lost: 37})
	if p.summary.Lost != 37 {
		t.Errorf("summary: got %+v, want 37 events lost", p.summary)
	}
	p.report(r.o.Clock.Now(), false)
	p.sayEnd()
	r.await("events_lost=37", 1)
	if err := p.output.close(); err != nil {
		t.Fatal(err)
	}
	dropped := int64(0)
	for _, m := range r.receiver.Metrics() { // two scopes have one of that name
		if m.GetName() != semconv.MetricDropped {
			continue
		}
		for _, p := range m.GetSum().GetDataPoints() {
			if text(p.GetAttributes(), semconv.AttrItem) == "dotnet_event" {
				dropped = p.GetAsInt()
			}
		}
	}
	if dropped != 37 {
		t.Errorf("%s: got %d, want 37", semconv.MetricDropped, dropped)
	}
	statuses := r.events(semconv.EventSourceStatus)
	if len(statuses) == 0 || otlptest.Attribute(statuses[len(statuses)-1].GetAttributes(), semconv.AttrDroppedCount).GetIntValue() != 37 {
		t.Errorf("statuses: got %v, want 37 dropped in the last", statuses)
	}
}
