package demo

import (
	"testing"
	"time"

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
		return &stall.Interval{Start: from * us, End: to * us, Slack: slack, Cause: stall.RuntimeSuspension, Source: stall.GoTrace}
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
	m, err := match([]load.Answer{{Arrival: 100 * us, Sent: 101 * us, Receipt: 200 * us}}, a)
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
