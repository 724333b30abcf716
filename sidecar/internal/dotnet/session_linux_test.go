package dotnet

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/semconv"
)

// newView returns a process that cannot be seen, with an output and a view of it.
func newView(t *testing.T) (*process, *view, *rig) {
	t.Helper()
	r := newRig(t, Options{})
	p := newProcess(r.o, dotnetipc.Identity{})
	if err := p.open(t.Context(), dotnetipc.ProcessInfo{PID: 42}); err != nil {
		t.Fatal(err)
	}
	return p, &view{events: p.events}, r
}

// TestStopWithoutItsLastEvent: a stop of which GCRestartEEEnd is missing is
// over all the same; one whose end is not known is no stop.
func TestStopWithoutItsLastEvent(t *testing.T) {
	p, v, r := newView(t)
	at := r.o.Clock.Now()
	v.stop(&dotnetgc.Stop{
		Reason: dotnetgc.Other, Begin: at, Suspended: at + 10_000, RestartBegin: at + 50_000,
		Incomplete: "GCRestartEEEnd was not seen",
	})
	v.stop(&dotnetgc.Stop{Reason: dotnetgc.Other, Begin: at + 90_000, Incomplete: "GCSuspendEEEnd was not seen"})
	b := v.known()
	p.take(t.Context(), &b, &v.seen)
	if p.summary.Suspensions != 1 || p.summary.SuspensionSum != int64(50*time.Microsecond) {
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
