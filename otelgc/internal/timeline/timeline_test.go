package timeline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

const (
	us     = stall.Instant(1000)
	ms     = 1000 * us
	second = 1000 * ms
)

// settleAll returns what is settled by now.
func settleAll(t *Timeline, now stall.Instant) (all []gc.Collection, stops []stall.Interval) {
	t.Settle(now, now, func(c *gc.Collection, _ []gcwatch.Bucket) { all = append(all, *c) }, func(v stall.Interval) { stops = append(stops, v) })
	return all, stops
}

// unseen has nobody watch up to t.
func (t *Timeline) unseen(from, to stall.Instant) {
	t.Traced(&source.Batch{Watermark: to, Unseen: []stall.Span{{Start: from, End: to}}})
}

// TestNoticeSamplesEachPauseOnce: what exact records bring is not in the buckets too.
func TestNoticeSamplesEachPauseOnce(t *testing.T) {
	buckets := func() []gcwatch.Bucket {
		return []gcwatch.Bucket{{Middle: 10e-6, Count: 2}, {Middle: 100e-6, Count: 2}}
	}
	exact := gc.Collection{Fidelity: stall.Exact, Pauses: []gc.Pause{{Start: 0, End: 15_000}, {Start: 0, End: 120_000}}}
	cycle := gc.Collection{Fidelity: stall.Cycle}
	for _, c := range []struct {
		name string
		list []*gc.Collection
		want []gcwatch.Bucket
	}{
		{"cycle", []*gc.Collection{&cycle, &cycle}, buckets()},
		{"exact", []*gc.Collection{&exact, &exact}, nil},
		{"mixed", []*gc.Collection{&exact, &cycle}, []gcwatch.Bucket{{Middle: 10e-6, Count: 1}, {Middle: 100e-6, Count: 1}}},
		{"mixed, the other way round", []*gc.Collection{&cycle, &exact}, []gcwatch.Bucket{{Middle: 10e-6, Count: 1}, {Middle: 100e-6, Count: 1}}},
	} {
		n := &notice{left: len(c.list), buckets: buckets()}
		var got []gcwatch.Bucket
		for _, one := range c.list {
			got = append(got, n.settle(one)...)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: samples (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestBucketsWait: pauses that were counted before their collection is noticed, as in a
// poll, are of its notice.
func TestBucketsWait(t *testing.T) {
	l := New(second)
	one := gcwatch.Bucket{Middle: 10e-6, Count: 1}
	l.Watched(&source.Batch{}, []gcwatch.Bucket{one})
	l.Watched(&source.Batch{Collections: []gc.Collection{{Index: 1, Cycles: 1}, {Index: 2, Cycles: 1}}}, []gcwatch.Bucket{one})
	var got [][]gcwatch.Bucket
	l.Settle(second, second, func(_ *gc.Collection, b []gcwatch.Bucket) { got = append(got, b) }, nil)
	if diff := cmp.Diff([][]gcwatch.Bucket{nil, {one, one}}, got); diff != "" {
		t.Errorf("samples by collection (-want +got):\n%s", diff)
	}
}

// TestHeldIsBounded: what nobody settles, since a function of the program's hangs the
// loop, does not pile up. The oldest go, counted, and the newest stay.
func TestHeldIsBounded(t *testing.T) {
	const over, each = 10, 2
	l := New(1)
	for i := range uint64(maxHeld/each + over) {
		at := stall.Instant(i + 1)
		v := stall.Interval{Start: at, End: at + 1, Cause: stall.RuntimeSuspension}
		l.Watched(&source.Batch{
			Collections: []gc.Collection{
				{Index: each * i, Cycles: 1, Start: gc.Known(at), End: gc.Known(at)},
				{Index: each*i + 1, Cycles: 1, Start: gc.Known(at), End: gc.Known(at)},
			},
			Intervals: []stall.Interval{v, v},
		}, []gcwatch.Bucket{{Count: 1}})
	}
	if diff := cmp.Diff([]int{maxHeld, maxHeld}, []int{len(l.collections.list), len(l.suspensions.list)}); diff != "" {
		t.Errorf("collections and stops that are held (-want +got):\n%s", diff)
	}
	collections, suspensions := l.Lost()
	if want := (Lost{each * over, stall.Span{Start: 1, End: over}}); collections != want {
		t.Errorf("lost collections %v, want %v", collections, want)
	}
	if want := (Lost{each * over, stall.Span{Start: 1, End: over + 1}}); suspensions != want {
		t.Errorf("lost stops %v, want %v", suspensions, want)
	}
	if c, s := l.Lost(); c.Count+s.Count != 0 {
		t.Error("what is lost is reported twice")
	}
	if first := l.collections.list[0].Index; first != each*over {
		t.Errorf("the oldest that is held is %d, want %d", first, each*over)
	}
}

// TestKeptIsBounded: what the trace has and nobody asks for is forgotten.
func TestKeptIsBounded(t *testing.T) {
	l := New(second)
	const each = 32 // collections of a stretch
	for epoch := range stall.Instant(3 * keptTraced / each) {
		b := source.Batch{Epoch: uint64(epoch)}
		for i := range stall.Instant(each) {
			at := second + (epoch*each+i)*ms
			p := gc.Pause{Start: at, End: at + us, EndMax: at + us}
			b.Intervals = append(b.Intervals, stall.Interval{Start: p.Start, End: p.End, Cause: stall.GCPause, Ref: uint64(i) + 2})
			b.Collections = append(b.Collections, gc.Collection{Index: uint64(i) + 2, End: gc.Known(at), Pauses: []gc.Pause{p}})
			b.Watermark = at + ms
		}
		l.Traced(&b)
	}
	for epoch := range uint64(3 * keptStretches) {
		l.Traced(&source.Batch{Epoch: 1e6 + epoch, Intervals: []stall.Interval{{Start: 100 * second, End: 100*second + us, Cause: stall.GCPause, Ref: 1}}})
	}
	if len(l.traced) > keptTraced || len(l.begins) > 2*keptBegins || len(l.stretches) > 2*keptStretches {
		t.Errorf("%d collections, %d begins and %d stretches are kept", len(l.traced), len(l.begins), len(l.stretches))
	}
}

func TestSuspensionsAreYieldedOnce(t *testing.T) {
	at := second + 100*ms
	v := stall.Interval{Start: at, End: at + 20*us, Slack: 10 * time.Millisecond, Cause: stall.RuntimeSuspension}
	exact := stall.Interval{Start: at + us, End: at + 22*us, Cause: stall.RuntimeSuspension}
	for _, c := range []struct {
		name       string
		start, end stall.Instant // of what was watched
		stops      []stall.Interval
		want       int // yielded
	}{
		{"not watched", 0, 0, nil, 1},
		{"watched", second, 2 * second, []stall.Interval{exact}, 0},
		{"watched in part, and seen", at - us, 2 * second, []stall.Interval{exact}, 0},
		{"watched in part, and not seen", at + ms, 2 * second, nil, 1},
	} {
		l := New(second)
		l.Watched(&source.Batch{Intervals: []stall.Interval{v}}, nil)
		if _, got := settleAll(l, at); len(got) != 0 {
			t.Errorf("%s: yielded before the trace had passed", c.name)
		}
		if got, want := l.Settled(), v.Start.Add(-v.Slack); got != want {
			t.Errorf("%s: settled up to %d while it waits, want %d", c.name, got, want)
		}
		if c.end != 0 {
			l.unseen(second, c.start)
			l.Traced(&source.Batch{Intervals: c.stops, Watermark: c.end})
		}
		l.unseen(max(second, c.end), 3*second)
		_, first := settleAll(l, 3*second)
		_, second := settleAll(l, 4*second)
		if got := len(first) + len(second); got != c.want {
			t.Errorf("%s: yielded %d times, want %d", c.name, got, c.want)
		}
		if got := l.Settled(); got < 4*3*ms {
			t.Errorf("%s: settled up to %d when nothing waits", c.name, got)
		}
	}
}

// TestStopsOfBothFidelities: what cycle fidelity knows of a stop, within its
// slack, says nothing of time that the exact source watched, even if the stop's
// middle lies where it did not watch, or where no window of the batch is.
func TestStopsOfBothFidelities(t *testing.T) {
	known := stall.Interval{Start: 1100, End: 1200, Cause: stall.GCPause, Origin: stall.GoTrace}
	roughly := func(start, end stall.Instant) stall.Interval {
		return stall.Interval{Start: start, End: end, Slack: 500, Cause: stall.GCPause, Origin: stall.GCWatch}
	}
	before, inside, after := roughly(600, 900), roughly(2100, 2200), roughly(4100, 4200)
	s := Stops{seen: []stall.Span{{Start: 1000, End: 2000}, {Start: 3000, End: 4000}}}
	s.all.Set([]stall.Interval{before, known, inside, after})
	for name, test := range map[string]struct {
		window stall.Span
		want   []stall.Interval // besides known, which may be there or not
	}{
		"watched":             {stall.Span{Start: 1000, End: 2000}, nil},
		"watched, later":      {stall.Span{Start: 3000, End: 4000}, nil},
		"not watched":         {stall.Span{Start: 2000, End: 3000}, []stall.Interval{inside}},
		"watched at both":     {stall.Span{Start: 1100, End: 3900}, []stall.Interval{inside}},
		"watched at the edge": {stall.Span{Start: 3500, End: 4500}, []stall.Interval{after}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []stall.Interval
			for _, v := range s.In(test.window) {
				if v.Origin == stall.GCWatch {
					got = append(got, v)
				}
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("stops (-want +got):\n%s", d)
			}
		})
	}
}
