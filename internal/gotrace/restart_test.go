package gotrace

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

// TestRestartIn: the world runs again when another thread takes a P after the
// last instant at which none had one, or after one that is known to be such.
func TestRestartIn(t *testing.T) {
	const own = 1
	took := func(at ticks, thread uint64) handoff { return handoff{at, thread, true} }
	lost := func(at ticks, thread uint64) handoff { return handoff{at, thread, false} }
	for name, c := range map[string]struct {
		list    []handoff
		stopped ticks
		want    ticks
	}{
		"nobody else":                         {nil, 0, 0},
		"its own thread is not another":       {[]handoff{lost(10, 2), took(20, own)}, 0, 0},
		"stopped and started":                 {[]handoff{lost(10, 2), took(50, 2)}, 0, 50},
		"two, one after the other":            {[]handoff{lost(10, 2), lost(11, 3), took(50, 3), took(51, 2)}, 0, 50},
		"another thread has the P then":       {[]handoff{lost(10, 2), took(50, 7)}, 0, 50},
		"started while it was being stopped":  {[]handoff{took(5, 3), lost(10, 2), lost(11, 3), took(50, 3)}, 0, 50},
		"and nobody ran when it began":        {[]handoff{took(5, 3), lost(11, 3), took(50, 3)}, 0, 50},
		"never started again before its end":  {[]handoff{took(5, 3), lost(11, 3)}, 0, 0},
		"idle in between: the last is sure":   {[]handoff{lost(10, 2), took(50, 2), lost(60, 2), took(70, 2)}, 0, 70},
		"the same, where it is known stopped": {[]handoff{lost(10, 2), took(50, 2), lost(60, 2), took(70, 2)}, 30, 50},
		"known stopped, not started":          {[]handoff{took(5, 3), lost(10, 3)}, 30, 0},
	} {
		if got := restartIn(c.list, own, c.stopped); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

// TestRestartsAreSearchedInStops: what changes hands between stops is not kept,
// and with more than there is room for no restart is known.
func TestRestartsAreSearchedInStops(t *testing.T) {
	for name, c := range map[string]struct {
		room     int
		want     []ticks
		handoffs int
		lost     uint64
	}{
		"room":    {100, []ticks{130, 0, 0}, 4, 0},
		"no room": {3, []ticks{0, 0, 0}, 3, 4},
	} {
		d := decoder{limits: Limits{Records: c.room}}
		for _, h := range []handoff{{50, 2, false}, {90, 2, true}, {110, 2, false}, {400, 2, false}, {130, 2, true}, {120, 3, false}, {310, 1, true}} {
			d.handoff(h.thread, h.at, h.took)
		}
		stop := func(from, to ticks) doneStop {
			return doneStop{openStop: openStop{begin: moment{at: from}}, end: to, thread: 1}
		}
		d.stops = []doneStop{stop(300, 350), stop(100, 200), stop(340, 500)} // the last begins within another
		d.restarts()
		var got []ticks
		for i := range d.stops {
			got = append(got, d.stops[i].restart)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: restarts (-want +got):\n%s", name, diff)
		}
		if len(d.handoffs) > c.handoffs+1 || d.lost.Handoffs != c.lost {
			t.Errorf("%s: %d handoffs kept, %d lost, want %d and %d", name, len(d.handoffs), d.lost.Handoffs, c.handoffs, c.lost)
		}
	}
}

// TestRestartIsBeforeTheEnd: within one nanosecond with the end it is none.
func TestRestartIsBeforeTheEnd(t *testing.T) {
	for frequency, want := range map[uint64]stall.Instant{1e9: 21, 4e9: 0} {
		d := decoder{limits: Limits{Records: 9}, handoffs: []handoff{{12, 2, false}, {21, 2, true}}}
		d.clock = clock{frequency: frequency}
		d.stops = []doneStop{{openStop: openStop{begin: moment{at: 10}}, end: 22, thread: 1}}
		var g Generation
		d.resolveStops(&g)
		if got := g.Stops[0].Restart; got != want {
			t.Errorf("at %d ticks a second: restart at %d of a stop to %d, want %d", frequency, got, g.Stops[0].End, want)
		}
	}
}
