package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/demo/wire"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestStopsOnTheWayBack: what the runtime stopped after the handler's end has
// its owner there too, be it for the collector or not.
func TestStopsOnTheWayBack(t *testing.T) {
	w := stall.Window{Arrival: 100 * us, Start: 100 * us, End: 150 * us}
	s := stall.Share{Total: 50_000, AppOrHost: 50_000, Covered: 50_000, Fidelity: stall.Exact}
	stop := func(from, to stall.Instant, slack time.Duration) *stall.Interval {
		return &stall.Interval{Start: from * us, End: to * us, Slack: slack, Cause: stall.RuntimeSuspension, Origin: stall.GoTrace}
	}
	a := tell(t, func(out *wire.Writer) []error {
		return []error{
			out.Hello(hello()),
			out.Window(&w, &s),
			out.Suspension(stop(190, 195, 0)), // they may come in any order
			out.Suspension(stop(140, 160, 0)), // the handler has its part already
			out.Suspension(stop(250, 260, 0)), // after the answer
			out.Collection(&gc.Collection{Index: 1, Cycles: 1, Pauses: []gc.Pause{{Start: 170 * us, End: 180 * us}}}),
			out.Farewell(&wire.Farewell{}),
		}
	})
	m, err := match([]load.Answer{{Arrival: 100 * us, Ready: 101 * us, Sent: 101 * us, Receipt: 200 * us}}, a, new(followed))
	if err != nil {
		t.Fatal(err)
	}
	var c blame.Case
	m.look(0, &c)
	got := c.Share.Charged
	var want [stall.NumCauses]time.Duration
	want[stall.RuntimeSuspension] = 15_000
	want[stall.GCPause] = 10_000
	want[stall.Queue] = 25_000
	if got != want {
		t.Errorf("charged %v, want %v", got, want)
	}
	if c.Collections != 1 {
		t.Errorf("%d collections, want 1", c.Collections)
	}
}

// TestGenerator: what the load generator did itself is nobody's queue. It was late
// to send, but not while it had no connection; and it was late to read.
func TestGenerator(t *testing.T) {
	// The handler ran from 150 to 160 us; the answer came at 180 us.
	w := stall.Window{Arrival: 100 * us, Start: 150 * us, End: 160 * us}
	s := stall.Share{Total: 60_000, AppOrHost: 10_000, Covered: 60_000, Pauses: 1, Collections: 1, LastCollection: 112 * us, Fidelity: stall.Exact}
	s.Charged[stall.GCPause] = 5_000
	s.Charged[stall.HostPreempted] = 3_000
	s.Charged[stall.Queue] = 42_000
	a := tell(t, func(out *wire.Writer) []error {
		return []error{
			out.Hello(hello()),
			out.Window(&w, &s),
			out.Collection(&gc.Collection{Index: 1, Cycles: 1, Pauses: []gc.Pause{
				{Start: 112 * us, End: 117 * us}, // before it was sent
				{Start: 190 * us, End: 195 * us}, // before it was read
			}}),
			out.Farewell(&wire.Farewell{}),
		}
	})
	owner := stall.Owner{PID: 7, Created: 9}
	preempted := func(from, to stall.Instant) stall.Interval {
		return stall.Interval{Start: from * us, End: to * us, Cause: stall.HostPreempted, Scope: stall.ScopeTarget, Origin: stall.TargetWatch, Owner: owner}
	}
	f := &followed{
		place:  &stall.Place{PID: 7, Created: 9},
		denied: []stall.Interval{preempted(120, 121), preempted(140, 142), preempted(165, 175), preempted(198, 199)},
	}
	m, err := match([]load.Answer{{Arrival: 100 * us, Ready: 110 * us, Sent: 130 * us, Came: 180 * us, Receipt: 200 * us}}, a, f)
	if err != nil {
		t.Fatal(err)
	}
	var got blame.Case
	m.look(0, &got)
	want := blame.Case{Arrival: 100 * us, Latency: 100_000, Known: 60_000, Share: s, Generator: 34_000, Collections: 1}
	want.Share.Total = 100_000
	want.Share.Charged[stall.HostPreempted] += 10_000
	want.Share.Charged[stall.Queue] = 38_000
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("case (-want +got):\n%s", diff)
	}
	// Where nobody knows when the answer came, all of the way back is queue.
	m.answers[0].Came = 0
	m.look(0, &got)
	if want := 14 * time.Microsecond; got.Generator != want {
		t.Errorf("without a stamp the generator has %v, want %v", got.Generator, want)
	}
}
