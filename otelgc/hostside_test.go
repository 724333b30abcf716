package otelgc

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

var compareMaybe = cmp.Exporter(func(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Maybe[") })

// newTestHostSide is a hostSide whose board told of this process up to upTo.
func newTestHostSide(t *testing.T, at, upTo stall.Instant, told ...stall.Interval) *hostSide {
	t.Helper()
	board := newHostSource(nil, testClock(t))
	board.log = stall.NewLog(stall.NoOrigin, 100, 10)
	here := board.target.place
	for _, v := range told {
		v.Start, v.End = at+v.Start, at+v.End
		if v.Scope == stall.ScopeTarget && v.Owner.PID == 0 {
			v.Owner = stall.Owner{PID: here.PID, Created: here.Created}
		}
		board.log.Add(v)
	}
	board.log.Advance(at + upTo)
	watchedIn(board, at, stall.Span{End: upTo})
	return &hostSide{board: board, now: testClock(t).Now}
}

// watchedIn has the board say when this process was watched.
func watchedIn(board *hostSource, at stall.Instant, spans ...stall.Span) {
	here := board.target.place
	for _, s := range spans {
		board.target.take(&stall.Interval{Start: at + s.Start, End: at + s.End, Scope: stall.ScopeTarget, Owner: stall.Owner{PID: here.PID, Created: here.Created}})
	}
}

func TestHostSide(t *testing.T) {
	const at, us = stall.Instant(1_000_000_000), stall.Instant(1000)
	target := func(from, to stall.Instant, c stall.Cause) stall.Interval {
		return stall.Interval{Start: from * us, End: to * us, Cause: c, Origin: stall.TargetWatch, Scope: stall.ScopeTarget}
	}
	other := target(100, 200, stall.HostPreempted)
	other.Owner = stall.Owner{PID: 1, Created: 1}
	cpu := target(100, 200, stall.HostSteal)
	cpu.Scope = stall.ScopeCPU
	machine := target(150, 180, stall.HostSteal)
	machine.Scope = stall.ScopeMachine
	unknown := target(100, 200, stall.HostUnknown)
	unknown.Scope = stall.ScopeMachine
	gone := target(300, 350, stall.HostSteal)
	gone.Scope = stall.ScopeMachine
	for _, test := range []struct {
		name       string
		slack      time.Duration
		upTo       stall.Instant
		told       []stall.Interval
		cpu, pages time.Duration // -1 for not known
	}{
		{"watched, and nothing", 0, 900, nil, 0, 0},
		{"nobody watched", 0, 50, nil, -1, -1},
		{"without a CPU", 0, 900, []stall.Interval{target(100, 200, stall.HostPreempted)}, 100 * time.Microsecond, 0},
		{"throttled, from before it", 0, 900, []stall.Interval{target(50, 150, stall.HostThrottled)}, 50 * time.Microsecond, 0},
		{"without a CPU, and nobody can say why", 0, 900, []stall.Interval{target(100, 200, stall.HostUnknown)}, 100 * time.Microsecond, 0},
		{"a page", 0, 900, []stall.Interval{target(200, 800, stall.HostFault)}, 0, 200 * time.Microsecond},
		{"a page, and the machine was gone", 0, 900, []stall.Interval{target(200, 800, stall.HostFault), gone}, 50 * time.Microsecond, 150 * time.Microsecond},
		{"the machine was gone all the while a page was waited for", 0, 900, []stall.Interval{target(310, 330, stall.HostFault), gone}, 50 * time.Microsecond, 0},
		{"another process, and one CPU", 0, 900, []stall.Interval{other, cpu}, 0, 0},
		{"twice the same", 0, 900, []stall.Interval{target(100, 200, stall.HostPreempted), machine}, 100 * time.Microsecond, 0},
		{"the machine, and nobody knows why", 0, 900, []stall.Interval{unknown}, 0, 0},
		{"within slack", 30 * time.Microsecond, 900, []stall.Interval{target(150, 250, stall.HostPreempted)}, 40 * time.Microsecond, 0},
		{"it may be elsewhere", 80 * time.Microsecond, 900, []stall.Interval{target(150, 250, stall.HostPreempted)}, 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newTestHostSide(t, at, test.upTo*us, test.told...)
			got := h.during(stall.Span{Start: at + 100*us, End: at + 400*us}, test.slack)
			if got.CPUWait.Or(-1) != test.cpu || got.PageWait.Or(-1) != test.pages {
				t.Errorf("without a CPU %v, without a page %v, want %v, %v", got.CPUWait.Or(-1), got.PageWait.Or(-1), test.cpu, test.pages)
			}
		})
	}
}

// TestHostSideOfTimeNobodyWatched: that nothing was taken is known only where
// somebody was sure of all the time; what was taken for certain always is.
func TestHostSideOfTimeNobodyWatched(t *testing.T) {
	const at, us = stall.Instant(1_000_000_000), stall.Instant(1000)
	span := func(from, to stall.Instant) stall.Span { return stall.Span{Start: from * us, End: to * us} }
	gone := stall.Interval{Start: 200 * us, End: 250 * us, Cause: stall.HostSteal, Origin: stall.ProbeSpin, Scope: stall.ScopeMachine}
	page := stall.Interval{Start: 200 * us, End: 250 * us, Cause: stall.HostFault, Origin: stall.TargetWatch, Scope: stall.ScopeTarget}
	for _, test := range []struct {
		name       string
		watched    []stall.Span
		slack      time.Duration
		told       []stall.Interval
		cpu, pages time.Duration // -1 for not known
	}{
		{"all of it", []stall.Span{span(50, 200), span(200, 500)}, 0, nil, 0, 0},
		{"a hole", []stall.Span{span(50, 200), span(201, 500)}, 0, nil, -1, -1},
		{"there, and sure of nothing", []stall.Span{span(50, 60), span(500, 500)}, 0, nil, -1, -1},
		{"sure of nothing since it began", []stall.Span{span(50, 50), span(500, 500)}, 0, nil, -1, -1},
		{"not where slack may put it", []stall.Span{span(50, 410)}, 20 * time.Microsecond, nil, -1, -1},
		{"begun too late", []stall.Span{span(150, 500)}, 0, nil, -1, -1},
		{"nobody, and the machine was gone", nil, 0, []stall.Interval{gone}, 50 * time.Microsecond, -1},
		{"a hole, and the machine was gone", []stall.Span{span(50, 300), span(350, 500)}, 0, []stall.Interval{gone}, 50 * time.Microsecond, -1},
		{"a hole, and a page", []stall.Span{span(50, 300), span(350, 500)}, 0, []stall.Interval{page}, -1, 50 * time.Microsecond},
		{"a hole, and the machine was gone while a page was waited for", []stall.Span{span(50, 300), span(350, 500)}, 0, []stall.Interval{gone, page}, 50 * time.Microsecond, -1},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newTestHostSide(t, at, 0, test.told...)
			watchedIn(h.board, at, test.watched...)
			got := h.during(stall.Span{Start: at + 100*us, End: at + 400*us}, test.slack)
			if got.CPUWait.Or(-1) != test.cpu || got.PageWait.Or(-1) != test.pages {
				t.Errorf("without a CPU %v, without a page %v, want %v, %v", got.CPUWait.Or(-1), got.PageWait.Or(-1), test.cpu, test.pages)
			}
		})
	}
}

// TestHostSideTells: a collection and its pauses keep what was counted and what
// is certain, and a pause that is long for it is called so in the sentence of a
// slow request.
func TestHostSideTells(t *testing.T) {
	const at, ms = stall.Instant(1_000_000_000), stall.Instant(1_000_000)
	h := newTestHostSide(t, at, 10_000*ms, stall.Interval{
		Start: 5001 * ms, End: 5009 * ms, Cause: stall.HostPreempted, Origin: stall.TargetWatch, Scope: stall.ScopeTarget,
	})
	for i := range stall.Instant(60) {
		start := at + 100*ms*i + 50*ms
		h.history.Add(hostcount.Reading{
			Span:   stall.Span{Start: start, End: start + ms},
			Counts: hostcount.Counts{MajorFaults: uint64(i), Throttled: gc.Known(time.Duration(0)), Stolen: time.Duration(i) * 10 * time.Millisecond},
		})
	}
	var r records
	collect := func(index uint64, start, long stall.Instant) gc.Collection {
		c := gc.Collection{
			Index: index, Cycles: 1, Kind: gc.Background, Start: gc.Known(at + start - ms), End: gc.Known(at + start + long),
			Pauses: []gc.Pause{{Start: at + start, End: at + start + long, EndMax: at + start + long}},
		}
		h.tell(&c)
		r.add(&c)
		return c
	}
	for i := range stall.Instant(20) {
		collect(uint64(i+1), 100*ms*(i+1), ms)
	}
	c := collect(21, 5000*ms, 10*ms)
	counted := gc.HostDuring{
		MajorFaults: gc.Known(uint64(1)), Throttled: gc.Known(time.Duration(0)), Stolen: gc.Known(10 * time.Millisecond),
		Over: gc.Known(101 * time.Millisecond), CPUWait: gc.Known(8 * time.Millisecond), PageWait: gc.Known(time.Duration(0)),
	}
	for name, got := range map[string]gc.HostDuring{"collection": c.HostDuring, "pause": c.Pauses[0].HostDuring} {
		if diff := cmp.Diff(counted, got, compareMaybe); diff != "" {
			t.Errorf("during the %s (-want +got):\n%s", name, diff)
		}
	}
	const want = "; collection 21 was slowed by stolen CPU: paused 10.0 ms, 10 times the usual for its work, 8.00 ms of it without a CPU"
	if got := r.slowed(stall.Span{Start: at + 5005*ms, End: at + 6000*ms}); got != want {
		t.Errorf("sentence of a request: got %q, want %q", got, want)
	}
	if got := r.slowed(stall.Span{Start: at + 100*ms, End: at + 4000*ms}); got != "" {
		t.Errorf("sentence of a request that it did not pause: got %q, want none", got)
	}
	// Where in 100 ms the pause lay is not known, so the second request may have had none of it.
	r.collections.ring[20].Pauses[0].Slack = time.Duration(50 * ms)
	if got := r.slowed(stall.Span{Start: at + 4900*ms, End: at + 6000*ms}); got != want {
		t.Errorf("sentence of a request that had it somewhere: got %q, want %q", got, want)
	}
	if got := r.slowed(stall.Span{Start: at + 5005*ms, End: at + 6000*ms}); got != "" {
		t.Errorf("sentence of a request that may have had none of it: got %q, want none", got)
	}
}
