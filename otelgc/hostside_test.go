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
	board := newHostSource("", testClock(t))
	board.log = stall.NewLog(stall.NoSource, 100, 10)
	here := board.target.place
	for _, v := range told {
		v.Start, v.End = at+v.Start, at+v.End
		if v.Scope == stall.ScopeTarget && v.Owner.PID == 0 {
			v.Owner = stall.Owner{PID: here.PID, Created: here.Created}
		}
		board.log.Add(v)
	}
	board.log.Advance(at + upTo)
	board.target.take(&stall.Interval{Start: at, End: at + upTo, Scope: stall.ScopeTarget, Owner: stall.Owner{PID: here.PID, Created: here.Created}})
	return &hostSide{board: board, now: board.clock.Now}
}

func TestHostSide(t *testing.T) {
	const at, us = stall.Instant(1_000_000_000), stall.Instant(1000)
	target := func(from, to stall.Instant, c stall.Cause) stall.Interval {
		return stall.Interval{Start: from * us, End: to * us, Cause: c, Source: stall.TargetWatch, Scope: stall.ScopeTarget}
	}
	other := target(100, 200, stall.HostPreempted)
	other.Owner = stall.Owner{PID: 1, Created: 1}
	cpu := target(100, 200, stall.HostSteal)
	cpu.Scope = stall.ScopeCPU
	machine := target(150, 180, stall.HostSteal)
	machine.Scope = stall.ScopeMachine
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
		{"a page", 0, 900, []stall.Interval{target(200, 800, stall.HostFault)}, 0, 200 * time.Microsecond},
		{"another process, and one CPU", 0, 900, []stall.Interval{other, cpu}, 0, 0},
		{"twice the same", 0, 900, []stall.Interval{target(100, 200, stall.HostPreempted), machine}, 100 * time.Microsecond, 0},
		{"nobody knows why", 0, 900, []stall.Interval{target(100, 200, stall.HostUnknown)}, 0, 0},
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

// TestHostSideTells: a collection and its pauses keep what was counted and what
// is certain, and a pause that is long for it is called so in the sentence of a
// slow request.
func TestHostSideTells(t *testing.T) {
	const at, ms = stall.Instant(1_000_000_000), stall.Instant(1_000_000)
	h := newTestHostSide(t, at, 10_000*ms, stall.Interval{
		Start: 5001 * ms, End: 5009 * ms, Cause: stall.HostPreempted, Source: stall.TargetWatch, Scope: stall.ScopeTarget,
	})
	for i := range stall.Instant(60) {
		start := at + 100*ms*i + 50*ms
		h.history.Add(hostcount.Reading{
			Span:   stall.Span{Start: start, End: start + ms},
			Counts: hostcount.Counts{MajorFaults: uint64(i), Stolen: time.Duration(i) * 10 * time.Millisecond},
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
}

// TestCollectionsWaitForTheBoard: what the machine did in a pause is told a
// little later, but a dead writer keeps nobody waiting.
func TestCollectionsWaitForTheBoard(t *testing.T) {
	b, r := newTestReconciler()
	now := testClock(t).Now()
	r.host = newTestHostSide(t, now, 0)
	b.learnUnseen(now.Add(time.Second)) // no exact source
	r.hold([]gc.Collection{{Index: 1, Cycles: 1, End: gc.Known(now.Add(100 * time.Millisecond))}}, nil)
	r.host.board.open.Store(true)
	if got := settleAll(r, now.Add(200*time.Millisecond)); len(got) != 0 {
		t.Errorf("settled before the board told: %v", got)
	}
	if got, want := r.newest(), now.Add(100*time.Millisecond); got != want {
		t.Errorf("newest: got %d, want %d", got, want)
	}
	r.host.board.log.Advance(now.Add(150 * time.Millisecond))
	if got := settleAll(r, now.Add(300*time.Millisecond)); len(got) != 1 {
		t.Errorf("not settled when the board had told")
	}
	r.hold([]gc.Collection{{Index: 2, Cycles: 1, End: gc.Known(now.Add(400 * time.Millisecond))}}, nil)
	r.host.board.open.Store(false)
	if got := settleAll(r, now.Add(500*time.Millisecond)); len(got) != 1 {
		t.Errorf("a board that is gone keeps a collection waiting")
	}
}
