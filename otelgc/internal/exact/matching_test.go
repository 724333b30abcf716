package exact

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// traced returns what the trace says of a collection whose stops are given as
// start and end pairs, the first for sweep termination.
func traced(stops ...stall.Instant) ([]gotrace.Stop, gotrace.Cycle) {
	var list []gotrace.Stop
	for i := 0; i+1 < len(stops); i += 2 {
		s := gotrace.Stop{Span: stall.Span{Start: stops[i], End: stops[i+1]}, GC: true, Phase: gc.MarkTermination}
		if i == 0 {
			s.Phase = gc.SweepTermination
		}
		list = append(list, s)
	}
	return list, gotrace.Cycle{
		Begin: stops[0] + 1, End: stops[len(stops)-1] - 1,
		Trigger: gc.TriggerHeap, TriggerSite: "main.work", HeapBefore: gc.Known(gc.Bytes(77)),
	}
}

// decoded is what the decoder says of a second.
func decoded(start, end stall.Instant, cycles ...[]stall.Instant) *gotrace.Generation {
	g := &gotrace.Generation{Span: stall.Span{Start: start, End: end}}
	for _, c := range cycles {
		stops, cycle := traced(c...)
		g.Stops = append(g.Stops, stops...)
		g.Cycles = append(g.Cycles, cycle)
	}
	return g
}

// noticedCycle is the watcher's record: it knows the end and the sum.
func noticedCycle(index uint64, end stall.Instant, sum time.Duration) gc.Collection {
	return gc.Collection{
		Index: index, Cycles: 1, Kind: gc.Background, Trigger: gc.TriggerAutomatic, End: gc.Known(end),
		Pauses:    []gc.Pause{{Start: end.Add(-sum), End: end, EndMax: end, Slack: time.Millisecond}},
		Estimated: gc.FieldPauses | gc.FieldHeapBefore, Fidelity: stall.Cycle, Origin: stall.GCWatch,
	}
}

func newTestTimeline() (*Store, *timeline.Timeline) {
	b := newStore(second)
	return b, b.timeline
}

func noticed(r *timeline.Timeline, list ...gc.Collection) {
	r.Watched(&source.Batch{Collections: list}, nil)
}

func settleAll(r *timeline.Timeline, now stall.Instant) []gc.Collection {
	return settlePassed(r, now, now)
}

func settlePassed(r *timeline.Timeline, now, passed stall.Instant) (all []gc.Collection) {
	r.Settle(now, passed, func(c *gc.Collection, _ []gcwatch.Bucket) { all = append(all, *c) }, func(stall.Interval) {})
	return all
}

func fidelities(list []gc.Collection) (f []stall.Fidelity) {
	for _, c := range list {
		f = append(f, c.Fidelity)
	}
	return f
}

func TestReconcileTakesExactFigures(t *testing.T) {
	b, r := newTestTimeline()
	at := second + 1e6
	b.Learn(decoded(second, 2*second, []stall.Instant{at, at + 30_000, at + 5e6, at + 5e6 + 40_000, at + 6e6, at + 6e6 + 20_000}), nil)
	noticed(r, noticedCycle(1, at+6e6+10_000, 80_000))
	all := settleAll(r, 2*second)
	if len(all) != 1 {
		t.Fatalf("settled %d collections, want 1", len(all))
	}
	c := all[0]
	if c.Fidelity != stall.Exact || c.Origin != stall.GoTrace || c.TriggerSite != "main.work" || c.HeapBefore.Or(0) != 77 {
		t.Errorf("got %+v, want the exact figures", c)
	}
	if got, want := c.PauseTotal(), 90*time.Microsecond; got != want {
		t.Errorf("pauses sum to %v, want %v: mark termination was retried", got, want)
	}
	if c.Estimated != 0 {
		t.Errorf("estimated %v in an exact record", c.Estimated.Names())
	}
}

// TestReconcileWaitsForTheWatermark, but not for longer than the deadline.
func TestReconcileWaitsForTheWatermark(t *testing.T) {
	b, r := newTestTimeline()
	end := second + 500e6
	noticed(r, noticedCycle(1, end, 50_000))
	b.LearnUnseen(second + 100e6)
	if all := settleAll(r, second+600e6); len(all) != 0 {
		t.Errorf("settled %d before the exact source had passed", len(all))
	}
	if !r.Waiting(end) || r.Waiting(end-1) {
		t.Errorf("waiting: got %v and %v", r.Waiting(end), r.Waiting(end-1))
	}
	all := settleAll(r, end.Add(timeline.Deadline+1))
	if len(all) != 1 || all[0].Fidelity != stall.Cycle {
		t.Errorf("after the deadline: got %d records, want 1 of fidelity cycle", len(all))
	}
}

// TestReconcileMatchesByEnd: collections close together, some of which the trace
// does not have whole or not at all, are not taken for each other.
func TestReconcileMatchesByEnd(t *testing.T) {
	const apart = 200_000 // ns: five collections within the slack of a millisecond
	cycle := func(i stall.Instant) []stall.Instant {
		at := second + 1e6 + i*apart
		return []stall.Instant{at, at + 10_000, at + 50_000, at + 70_000}
	}
	end := func(i stall.Instant) stall.Instant { return cycle(i)[3] - 5_000 }
	notices := func() (list []gc.Collection) {
		for i := range stall.Instant(5) {
			list = append(list, noticedCycle(uint64(i)+1, end(i), 25_000))
		}
		return list
	}
	exact, cyc := stall.Exact, stall.Cycle
	for _, c := range []struct {
		name string
		have []stall.Instant
		want []stall.Fidelity
	}{
		{"all", []stall.Instant{0, 1, 2, 3, 4}, []stall.Fidelity{exact, exact, exact, exact, exact}},
		{"none", nil, []stall.Fidelity{cyc, cyc, cyc, cyc, cyc}},
		{"the first is missing", []stall.Instant{1, 2, 3, 4}, []stall.Fidelity{cyc, exact, exact, exact, exact}},
		{"one in the midst is missing", []stall.Instant{0, 1, 3, 4}, []stall.Fidelity{exact, exact, cyc, exact, exact}},
		{"the last is missing", []stall.Instant{0, 1, 2, 3}, []stall.Fidelity{exact, exact, exact, exact, cyc}},
		{"every other is missing", []stall.Instant{0, 2, 4}, []stall.Fidelity{exact, cyc, exact, cyc, exact}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, r := newTestTimeline()
			var cycles [][]stall.Instant
			for _, i := range c.have {
				cycles = append(cycles, cycle(i))
			}
			b.Learn(decoded(second, 2*second, cycles...), nil)
			noticed(r, notices()...)
			all := settleAll(r, 2*second)
			if diff := cmp.Diff(c.want, fidelities(all)); diff != "" {
				t.Errorf("fidelity (-want +got):\n%s", diff)
			}
			for i := range all {
				last := all[i].Pauses[len(all[i].Pauses)-1]
				if all[i].Fidelity == exact && last.End != cycle(stall.Instant(i))[3] {
					t.Errorf("record %d has the pauses of another collection: %v", i, last)
				}
			}
		})
	}
}

// TestReconcileTakesOnlyWholeCollections: where the trace began within one, or
// has a hole, the watcher's sum is the better figure.
func TestReconcileTakesOnlyWholeCollections(t *testing.T) {
	at := second + 1e6
	for name, spoil := range map[string]func(*gotrace.Generation){
		"begin unknown":         func(g *gotrace.Generation) { g.Cycles[0].BeginUnknown = true },
		"partial":               func(g *gotrace.Generation) { g.Cycles[0].Partial = true },
		"first stop is missing": func(g *gotrace.Generation) { g.Stops = g.Stops[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			b, r := newTestTimeline()
			g := decoded(second, 2*second, []stall.Instant{at, at + 10_000, at + 50_000, at + 70_000})
			spoil(g)
			b.Learn(g, nil)
			noticed(r, noticedCycle(1, at+60_000, 25_000))
			all := settleAll(r, 2*second)
			if len(all) != 1 || all[0].Fidelity != stall.Cycle || all[0].PauseTotal() != 25_000 {
				t.Errorf("got %+v, want the watcher's record as it was", all)
			}
		})
	}
}

// TestReconcileAcrossGenerations: a collection may begin in one and end in the
// next, unless there is a hole in between.
func TestReconcileAcrossGenerations(t *testing.T) {
	stops, cycle := traced(second+1e6, second+1e6+10_000, 2*second+1e6, 2*second+1e6+20_000)
	for name, c := range map[string]struct {
		next stall.Instant
		want stall.Fidelity
	}{"next to each other": {2 * second, stall.Exact}, "a hole": {2*second + 1000, stall.Cycle}} {
		b, r := newTestTimeline()
		b.Learn(&gotrace.Generation{Span: stall.Span{Start: second, End: 2 * second}, Stops: stops[:1]}, nil)
		b.Learn(&gotrace.Generation{Span: stall.Span{Start: c.next, End: 3 * second}, Stops: stops[1:], Cycles: []gotrace.Cycle{cycle}}, nil)
		noticed(r, noticedCycle(1, 2*second+1e6+10_000, 25_000))
		all := settleAll(r, 3*second)
		if len(all) != 1 || all[0].Fidelity != c.want {
			t.Errorf("%s: got %v, want %v", name, fidelities(all), c.want)
		}
	}
}

// TestReconcileChecks: the fidelities disagree when they differ by more than a
// fifth and by more than 50 us.
func TestReconcileChecks(t *testing.T) {
	at := second + 1e6
	longer, shorter := timeline.Disagreement{Delayed: 1}, timeline.Disagreement{Missing: 1}
	for _, c := range []struct {
		exact, runtime, restarting time.Duration
		want                       timeline.Disagreement
	}{
		{100_000, 95_000, 0, timeline.Disagreement{}},          // 5 us
		{100_000, 55_000, 0, timeline.Disagreement{}},          // 82 %, but 45 us
		{1_000_000, 900_000, 0, timeline.Disagreement{}},       // 100 us, but 11 %
		{1_000_000, 700_000, 0, longer},                        // both
		{700_000, 1_000_000, 0, shorter},                       // the other way round
		{1_200_002, 1_000_000, 0, longer},                      // just so
		{1_000_000, 700_000, 300_000, timeline.Disagreement{}}, // it took so long to restart the world
		{1_000_000, 700_000, 100_000, longer},                  // and not longer
		{700_000, 1_000_000, 200_000, shorter},                 // which the runtime does not count
		{1_000_000, 950_000, 400_000, timeline.Disagreement{}}, // or only a part of it
	} {
		b, r := newTestTimeline()
		half := stall.Instant(c.exact / 2)
		rest := stall.Instant(c.exact) - half
		g := decoded(second, 2*second, []stall.Instant{at, at + half, at + 5e6, at + 5e6 + rest})
		g.Cycles[0].End -= stall.Instant(c.restarting)
		b.Learn(g, nil)
		noticed(r, noticedCycle(1, at+5e6+rest-10, c.runtime))
		settleAll(r, 2*second)
		if got := r.Disagreed(); got != c.want {
			t.Errorf("exact %v with %v to restart, runtime %v: disagreement %+v, want %+v", c.exact, c.restarting, c.runtime, got, c.want)
		}
		if got := r.Disagreed(); got != (timeline.Disagreement{}) {
			t.Errorf("counted twice: %+v", got)
		}
	}
}
