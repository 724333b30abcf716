package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/blame"
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
	a := tell(t, []message{
		greeting(),
		resolved(&w, &s),
		suspended(stop(190, 195, 0)), // they may come in any order
		suspended(stop(140, 160, 0)), // the handler has its part already
		suspended(stop(250, 260, 0)), // after the answer
		collected(&gc.Collection{Index: 1, Cycles: 1, Pauses: []gc.Pause{{Start: 170 * us, End: 180 * us}}}),
		parting(&farewell{}),
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
	if c.Share.Collections != 1 {
		t.Errorf("%d collections, want 1", c.Share.Collections)
	}
}

// TestGenerator: what the load generator did itself is nobody's queue. It was late
// to send, but not while it had no connection; and it was late to read.
func TestGenerator(t *testing.T) {
	// The handler ran from 150 to 160 us; the answer came at 180 us.
	w := stall.Window{Arrival: 100 * us, Start: 150 * us, End: 160 * us}
	s := stall.Share{Total: 60_000, AppOrHost: 10_000, Covered: 60_000, Pauses: 1, Collections: 1, LastCollection: 1, Fidelity: stall.Exact}
	s.Charged[stall.GCPause] = 5_000
	s.Charged[stall.HostPreempted] = 3_000
	s.Charged[stall.Queue] = 42_000
	a := tell(t, []message{
		greeting(),
		resolved(&w, &s),
		collected(&gc.Collection{Index: 1, Cycles: 1, Pauses: []gc.Pause{
			{Start: 112 * us, End: 117 * us}, // before it was sent
			{Start: 190 * us, End: 195 * us}, // before it was read
		}}),
		parting(&farewell{}),
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
	want := blame.Case{Arrival: 100 * us, Latency: 100_000, Known: 60_000, Share: s, Generator: 34_000}
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

func hits(n int) stall.Share { return stall.Share{Collections: n} }

// TestCount: a collection that delayed the handler and the way back counts once,
// and two of one stop are told.
func TestCount(t *testing.T) {
	collection := func(index uint64, kind gc.Kind, pauses ...gc.Pause) gc.Collection {
		return gc.Collection{Index: index, Cycles: 1, Kind: kind, Pauses: pauses}
	}
	pause := func(from, to stall.Instant) gc.Pause { return gc.Pause{Start: from * us, End: to * us} }
	vague := func(from, to stall.Instant, slack time.Duration) gc.Pause {
		p := pause(from, to)
		p.Slack = slack * time.Microsecond
		return p
	}
	// Every request is handled from 110 to 150 us and is back at 200 us.
	for name, tt := range map[string]struct {
		counted     int    // by the service
		last        uint64 // of these
		collections []gc.Collection
		want        blame.Case
	}{
		"one, on both sides": {1, 1,
			[]gc.Collection{collection(1, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Share: hits(1)}},
		"one on each side": {1, 1,
			[]gc.Collection{collection(1, gc.Background, pause(120, 130)), collection(2, gc.Background, pause(160, 170))},
			blame.Case{Share: hits(2)}},
		// The goroutine was parked in the first pause, so it delayed nothing.
		"one that counts on the way back only": {0, 0,
			[]gc.Collection{collection(1, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Share: hits(1)}},
		"one that counts on the way back only, after one that counted": {1, 1,
			[]gc.Collection{collection(1, gc.Background, pause(112, 115), pause(117, 118)), collection(2, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Share: hits(2)}},
		// The request swept for the first, and then the second began.
		"one that was swept for, and one on the way back": {1, 1,
			[]gc.Collection{collection(1, gc.Background, pause(90, 91), pause(98, 99)), collection(2, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Share: hits(2)}},
		"one on both sides, after another": {1, 2,
			[]gc.Collection{collection(1, gc.Background, pause(112, 115), pause(117, 118)), collection(2, gc.Background, pause(120, 130), pause(160, 170))},
			blame.Case{Share: hits(1)}},
		"one on the way back for certain, and one that may lie there": {0, 0,
			[]gc.Collection{collection(1, gc.Background, pause(160, 170)), collection(2, gc.Background, vague(185, 195, 20))},
			blame.Case{Share: hits(1)}},
		"two, of one stop that may lie in it": {2, 2,
			[]gc.Collection{collection(1, gc.Background, vague(195, 199, 20)), collection(2, gc.Background, vague(195, 199, 20))},
			blame.Case{Share: hits(2)}},
		"none": {0, 0, []gc.Collection{collection(1, gc.FullBlocking, pause(300, 310))}, blame.Case{}},
		"full and blocking": {0, 0,
			[]gc.Collection{collection(1, gc.FullBlocking, pause(160, 170))},
			blame.Case{Share: hits(1), FullBlocking: true}},
		"two in one stop": {2, 2,
			[]gc.Collection{collection(1, gc.Background, pause(120, 130)), collection(2, gc.Background, pause(120, 130))},
			blame.Case{Share: hits(2), OneStop: true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := stall.Window{Arrival: 100 * us, Start: 110 * us, End: 150 * us}
			s := stall.Share{Total: 50_000, AppOrHost: 50_000, Covered: 50_000, Fidelity: stall.Exact, Collections: tt.counted, LastCollection: tt.last}
			if tt.counted > 0 {
				s.AppOrHost, s.Charged[stall.GCPause] = 40_000, 10_000
			}
			list := []message{greeting(), resolved(&w, &s)}
			for i := range tt.collections {
				list = append(list, collected(&tt.collections[i]))
			}
			a := tell(t, append(list, parting(&farewell{})))
			m, err := match([]load.Answer{{Arrival: 100 * us, Ready: 101 * us, Sent: 101 * us, Receipt: 200 * us}}, a, new(followed))
			if err != nil {
				t.Fatal(err)
			}
			var c blame.Case
			m.look(0, &c)
			got := blame.Case{Share: hits(c.Share.Collections), FullBlocking: c.FullBlocking, OneStop: c.OneStop}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("hits (-want +got):\n%s", diff)
			}
			if (c.Share.GC() > 0) != (c.Share.Collections > 0) {
				t.Errorf("%d collections delayed the request by %v", c.Share.Collections, c.Share.GC())
			}
		})
	}
}

func TestWithin(t *testing.T) {
	list := []stall.Span{{Start: 10, End: 31}, {Start: 50, End: 60}}
	for _, tt := range []struct {
		span stall.Span
		want int64
	}{{stall.Span{Start: 0, End: 100}, 31}, {stall.Span{Start: 20, End: 55}, 16}, {stall.Span{Start: 31, End: 50}, 0}, {stall.Span{Start: 70, End: 80}, 0}} {
		if got := int64(within(list, tt.span)); got != tt.want {
			t.Errorf("within(%v) = %d, want %d", tt.span, got, tt.want)
		}
	}
}

func TestGapAttribution(t *testing.T) {
	gap := func(start, end stall.Instant) *stall.Interval {
		return &stall.Interval{Start: start, End: end, Cause: stall.HostUnknown, Origin: stall.ProbePeriodic}
	}
	a := tell(t, []message{
		greeting(),
		gapped(gap(1000*us, 1040*us)), // too short to be reported
		gapped(gap(2000*us, 2100*us)), // half of it a pause
		gapped(gap(3000*us, 3100*us)), // less than half a pause, and a gap outside
		gapped(gap(4000*us, 4100*us)), // nothing
		gapped(gap(5000*us, 5100*us)), // a pause whose place is not known well enough
		collected(&gc.Collection{Index: 1, Cycles: 1, Pauses: []gc.Pause{
			{Start: 2050 * us, End: 2200 * us}, {Start: 3000 * us, End: 3049 * us},
			{Start: 5000 * us, End: 5100 * us, Slack: time.Millisecond},
		}}),
		parting(&farewell{}),
	})
	m, err := match(nil, a, new(followed))
	if err != nil {
		t.Fatal(err)
	}
	var o outsideGaps
	o.add([]stall.Interval{
		{Start: 3050 * us, End: 3080 * us},
		{Start: 4050 * us, End: 4060 * us}, // too short to be behind it
	})
	want := blame.Inside{Mode: "periodic", Over50us: 4, GC: 1, Coincident: 1, Other: 2}
	if diff := cmp.Diff(want, o.attribute(m)); diff != "" {
		t.Errorf("attribution (-want +got):\n%s", diff)
	}
}
