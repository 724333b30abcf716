package exact

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

func slot0(at stall.Instant, g uint64, m gotrace.WindowMark) gotrace.Mark {
	return gotrace.Mark{At: at, Goroutine: g, Key: m.Key(0)}
}

func statesOf(g uint64, spans ...gotrace.TrackSpan) gotrace.Track {
	return gotrace.NewTrack(g, spans...)
}

func inState(start, end stall.Instant, s stall.State) gotrace.TrackSpan {
	return gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: start, End: end, State: s}}
}

// TestChildStepsIn: while the window's goroutine is parked, a joined child's
// states and stalls are the window's; before it joins and after it left, and
// while the window's goroutine runs, they are not.
func TestChildStepsIn(t *testing.T) {
	const (
		run, wait, parked = stall.StateRunning, stall.StateRunnable, stall.StateParked
	)
	b := newStore(1)
	b.Learn(&gotrace.Generation{
		Span: stall.Span{Start: 1000, End: 10_000},
		Marks: []gotrace.Mark{
			slot0(2000, 1, gotrace.WindowBegin), slot0(3500, 2, gotrace.WindowJoin), slot0(4000, 3, gotrace.WindowJoin),
			slot0(6000, 2, gotrace.WindowLeave), slot0(9000, 1, gotrace.WindowEnd),
		},
		Tracks: []gotrace.Track{
			statesOf(1, inState(1000, 3000, run), inState(3000, 8000, parked), inState(8000, 10_000, run)),
			statesOf(2, inState(1000, 4500, run), inState(4500, 5000, wait), inState(5000, 5500, parked), inState(5500, 7000, run)),
			statesOf(3, inState(1000, 7500, run), inState(7500, 10_000, parked)),
		},
		Ranges: []gotrace.Range{
			{Span: stall.Span{Start: 2500, End: 3600}, Goroutine: 2, Kind: gotrace.Assist},
			{Span: stall.Span{Start: 6500, End: 8500}, Goroutine: 3, Kind: gotrace.Assist},
		},
		Stops: []gotrace.Stop{{Span: stall.Span{Start: 5500, End: 6100}, Goroutine: 3}},
	}, nil)
	e := followed(b, stall.Window{Start: 2000, End: 9000}, 0, 2000)
	want := []string{
		"1000-3000 running", "3000-3500 parked", // before anybody joined
		"3500-4500 running", "4500-5000 runnable", // the first child
		"5000-5500 running",                      // it parks: the second
		"5500-6000 running", "6000-7500 running", // it leaves: the second
		"7500-8000 parked", "8000-10000 running",
	}
	var got []string
	names := map[stall.State]string{run: "running", wait: "runnable", parked: "parked"}
	for _, s := range e.Track {
		got = append(got, fmt.Sprintf("%d-%d %s", s.Start, s.End, names[s.State]))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("track (-want +got):\n%s", diff)
	}
	want, got = []string{
		"3500-3600 gc.assist", "4500-5000 sched", "6000-6100 runtime.suspension", "6500-8000 gc.assist",
	}, nil
	for _, v := range e.Own {
		got = append(got, fmt.Sprintf("%d-%d %s", v.Start, v.End, v.Cause))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("own (-want +got):\n%s", diff)
	}
}

// TestChildIsTakenFromItsStart: a goroutine that began in the window and joins it is
// waited for from then on, if it did nothing in between but want a CPU and run.
func TestChildIsTakenFromItsStart(t *testing.T) {
	const (
		run, wait, parked = stall.StateRunning, stall.StateRunnable, stall.StateParked
	)
	begin, end := slot0(2000, 1, gotrace.WindowBegin), slot0(9000, 1, gotrace.WindowEnd)
	join := func(at stall.Instant) gotrace.Mark { return slot0(at, 2, gotrace.WindowJoin) }
	leave := func(at stall.Instant) gotrace.Mark { return slot0(at, 2, gotrace.WindowLeave) }
	other := gotrace.Mark{At: 4950, Goroutine: 2, Key: gotrace.WindowJoin.Key(1)}
	for _, c := range []struct {
		name  string
		marks []gotrace.Mark
		child []gotrace.TrackSpan
		sched []string
	}{
		{"it waits for a CPU first", []gotrace.Mark{join(5000), leave(6000)},
			[]gotrace.TrackSpan{inState(3500, 4900, wait), inState(4900, 6000, run)}, []string{"3500-4900"}},
		{"it loses the CPU before it joins", []gotrace.Mark{join(5000), leave(6000)},
			[]gotrace.TrackSpan{inState(3500, 4000, wait), inState(4000, 4100, run), inState(4100, 4900, wait), inState(4900, 6000, run)},
			[]string{"3500-4000", "4100-4900"}},
		{"it parked before", []gotrace.Mark{join(5000), leave(6000)},
			[]gotrace.TrackSpan{inState(3500, 4000, wait), inState(4000, 4500, parked), inState(4500, 4900, wait), inState(4900, 6000, run)}, nil},
		{"something of it is not known", []gotrace.Mark{join(5000), leave(6000)},
			[]gotrace.TrackSpan{inState(3500, 4000, wait), inState(4500, 4900, wait), inState(4900, 6000, run)}, nil},
		{"it is older than the window", []gotrace.Mark{join(5000), leave(6000)},
			[]gotrace.TrackSpan{inState(1500, 4900, wait), inState(4900, 6000, run)}, nil},
		{"it joined another window before", []gotrace.Mark{other, join(5000), leave(6000)},
			[]gotrace.TrackSpan{inState(3500, 4900, wait), inState(4900, 6000, run)}, nil},
		{"it is known from then on", []gotrace.Mark{join(5000), leave(6000)}, // see below
			[]gotrace.TrackSpan{inState(3500, 4900, wait), inState(4900, 6000, run)}, nil},
		{"it joins again", []gotrace.Mark{join(4000), leave(4500), join(6000), leave(7000)},
			[]gotrace.TrackSpan{inState(3500, 3900, wait), inState(3900, 4600, run), inState(4600, 5900, wait), inState(5900, 7000, run)},
			[]string{"3500-3900"}},
	} {
		b := newStore(1)
		child := statesOf(2, c.child...)
		child.Created = c.name != "it is known from then on"
		b.Learn(&gotrace.Generation{
			Span:  stall.Span{Start: 1000, End: 10_000},
			Marks: slices.Concat([]gotrace.Mark{begin}, c.marks, []gotrace.Mark{end}),
			Tracks: []gotrace.Track{
				statesOf(1, inState(1000, 3000, run), inState(3000, 8000, parked), inState(8000, 10_000, run)),
				child,
			},
		}, nil)
		var got []string
		for _, v := range followed(b, stall.Window{Start: 2000, End: 9000}, 0, 2000).Own {
			if v.Cause == stall.Sched {
				got = append(got, fmt.Sprintf("%d-%d", v.Start, v.End))
			}
		}
		if diff := cmp.Diff(c.sched, got); diff != "" {
			t.Errorf("%s: waits for a CPU (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestChildUnknown: what the window waits while a child that is not followed works for
// it, or one of which something is missing, is unseen, and no guess. One that ended
// without leaving keeps nobody waiting.
func TestChildUnknown(t *testing.T) {
	const run, parked = stall.StateRunning, stall.StateParked
	gens := []stall.Span{{Start: 1000, End: 10_000}, {Start: 10_000, End: 20_000}}
	ended := func(t gotrace.Track) gotrace.Track { t.Ended = true; return t }
	for _, c := range []struct {
		name  string
		child [2][]gotrace.Track // of the two generations
		want  []string
	}{
		{"not followed", [2][]gotrace.Track{}, []string{"3000-5000"}},
		{"followed, then not", [2][]gotrace.Track{{statesOf(2, inState(1000, 10_000, parked))}},
			[]string{"3000-10000"}},
		{"not followed, then it is", [2][]gotrace.Track{1: {statesOf(2, inState(10_000, 20_000, parked))}},
			[]string{"3000-5000", "10000-18000"}},
		{"something is missing", [2][]gotrace.Track{
			{statesOf(2, inState(1000, 6000, parked), inState(7000, 10_000, parked))}, {statesOf(2, inState(10_000, 20_000, parked))}},
			[]string{"3000-6000", "7000-18000"}},
		{"it ended", [2][]gotrace.Track{{ended(statesOf(2, inState(1000, 6000, run)))}}, []string{"3000-5000", "6000-18000"}},
		{"it ends in the next one", [2][]gotrace.Track{
			{statesOf(2, inState(1000, 10_000, run))}, {ended(statesOf(2, inState(10_000, 12_000, run)))}}, []string{"3000-5000", "12000-18000"}},
	} {
		b := newStore(1)
		marks := []gotrace.Mark{slot0(2000, 1, gotrace.WindowBegin), slot0(5000, 2, gotrace.WindowJoin)}
		for i, s := range gens {
			own := statesOf(1, inState(10_000, 18_000, parked), inState(18_000, 20_000, run))
			if i == 0 {
				own = statesOf(1, inState(1000, 3000, run), inState(3000, 10_000, parked))
			}
			b.Learn(&gotrace.Generation{Span: s, Marks: marks, Tracks: append([]gotrace.Track{own}, c.child[i]...)}, nil)
			marks = nil
		}
		var got []string
		for _, s := range followed(b, stall.Window{Start: 2000, End: 19_000}, 0, 2000).Track {
			if s.State == parked {
				got = append(got, fmt.Sprintf("%d-%d", s.Start, s.End))
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: its own waiting (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestCarriers: windows within each other on one goroutine, children, and ends
// on another goroutine.
func TestCarriers(t *testing.T) {
	mark := func(g uint64, m gotrace.WindowMark, slot int16) gotrace.Mark {
		return gotrace.Mark{Goroutine: g, Key: m.Key(slot)}
	}
	b := newStore(1)
	for i, step := range []struct {
		mark gotrace.Mark
		want map[uint64]int
	}{
		{mark(1, gotrace.WindowBegin, 7), map[uint64]int{1: 1}},
		{mark(1, gotrace.WindowBegin, 8), map[uint64]int{1: 2}},
		{mark(1, gotrace.WindowEnd, 8), map[uint64]int{1: 1}},
		{mark(2, gotrace.WindowJoin, 7), map[uint64]int{1: 1, 2: 1}},
		{mark(2, gotrace.WindowJoin, 7), map[uint64]int{1: 1, 2: 1}},
		{mark(3, gotrace.WindowJoin, 7), map[uint64]int{1: 1, 2: 1, 3: 1}},
		{mark(2, gotrace.WindowLeave, 7), map[uint64]int{1: 1, 3: 1}},
		{mark(9, gotrace.WindowOver, 7), map[uint64]int{}},
		{mark(9, gotrace.WindowEnd, 5), map[uint64]int{}},
		{mark(4, gotrace.WindowBegin, 7), map[uint64]int{4: 1}},
		{mark(5, gotrace.WindowBegin, 7), map[uint64]int{5: 1}}, // the end of the one before was lost
		{gotrace.Mark{Goroutine: 5, Key: "otelgc.x.7"}, map[uint64]int{5: 1}},
	} {
		b.carry(appendMarks(nil, []gotrace.Mark{step.mark}), 0)
		if diff := cmp.Diff(step.want, b.carrying); diff != "" {
			t.Errorf("step %d, %s (-want +got):\n%s", i, step.mark.Key, diff)
		}
	}
}
