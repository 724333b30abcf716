package exact

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

func mark0(at stall.Instant, goroutine uint64, m gotrace.WindowMark, slot int16) gotrace.Mark {
	return gotrace.Mark{At: at, Goroutine: goroutine, Key: m.Key(slot)}
}

func running(start, end stall.Instant) gotrace.TrackSpan {
	return gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: start, End: end, State: stall.StateRunning}}
}

func runnable(start, end stall.Instant) gotrace.TrackSpan {
	return gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: start, End: end, State: stall.StateRunnable}}
}

// followed returns the evidence about a window of the slot.
func followed(b *Store, w stall.Window, slot int16, held stall.Instant) stall.Evidence {
	var e stall.Evidence
	b.Follow(&e, &w, slot, stall.Span{Start: held, End: w.End}, new(Carrier))
	return e
}

// TestFollowAcrossGenerations: a window's states and ranges come from every
// generation that it lies in.
func TestFollowAcrossGenerations(t *testing.T) {
	b := newStore(second)
	b.Learn(&gotrace.Generation{
		Span:   stall.Span{Start: second, End: 2 * second},
		Marks:  []gotrace.Mark{mark0(second+100, 7, gotrace.WindowBegin, 3)},
		Tracks: []gotrace.Track{gotrace.NewTrack(7, running(second, 2*second))},
		Ranges: []gotrace.Range{
			{Span: stall.Span{Start: second + 500, End: second + 600}, Goroutine: 7},
			{Span: stall.Span{Start: second + 500, End: second + 600}, Goroutine: 8},
		},
		Stops: []gotrace.Stop{
			{Span: stall.Span{Start: second + 700, End: second + 900}, Restart: second + 800, Goroutine: 7},
			{Span: stall.Span{Start: second + 900, End: second + 950}, Goroutine: 8, GC: true},
		},
	}, nil)
	b.Learn(&gotrace.Generation{
		Span:    stall.Span{Start: 2 * second, End: 3 * second},
		Marks:   []gotrace.Mark{mark0(2*second+9000, 7, gotrace.WindowEnd, 3)},
		Tracks:  []gotrace.Track{gotrace.NewTrack(7, runnable(2*second, 2*second+4000), running(2*second+4000, 3*second))},
		Workers: []gotrace.Worker{{Span: stall.Span{Start: 2*second + 1000, End: 2*second + 2000}, Kind: gotrace.Dedicated}},
	}, nil)
	w := stall.Window{Start: second + 50, End: 2*second + 9500}
	got := followed(b, w, 3, w.Start)
	want := stall.Evidence{
		Track: []stall.StateSpan{
			{Start: second, End: 2 * second, State: stall.StateRunning},
			{Start: 2 * second, End: 2*second + 4000, State: stall.StateRunnable},
			{Start: 2*second + 4000, End: 3 * second, State: stall.StateRunning},
		},
		Own: []stall.Interval{
			own(second+500, second+600, stall.GCAssist),
			own(second+700, second+800, stall.RuntimeSuspension), // of its own making
			own(2*second, 2*second+1000, stall.Sched),
			own(2*second+1000, 2*second+2000, stall.SchedGC),
			own(2*second+2000, 2*second+4000, stall.Sched),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}

// TestFollowTellsWindowsOfOneSlotApart: a slot is used again and again, on other
// goroutines, and a window older than the slice has it only at its very end.
func TestFollowTellsWindowsOfOneSlotApart(t *testing.T) {
	b := newStore(second)
	at := func(us stall.Instant) stall.Instant { return second + us*1000 }
	b.Learn(&gotrace.Generation{
		Span: stall.Span{Start: second, End: 2 * second},
		Marks: []gotrace.Mark{
			mark0(at(10), 1, gotrace.WindowBegin, 5), mark0(at(20), 1, gotrace.WindowEnd, 5),
			mark0(at(30), 2, gotrace.WindowBegin, 5), mark0(at(40), 2, gotrace.WindowEnd, 5),
			mark0(at(50), 3, gotrace.WindowEnd, 5), // of a window that began before the slice
			mark0(at(60), 4, gotrace.WindowBegin, 5),
			mark0(at(45), 9, gotrace.WindowBegin, 6), mark0(at(46), 9, gotrace.WindowEnd, 6),
		},
	}, nil)
	for _, c := range []struct {
		name             string
		start, end, held stall.Instant
		slot             int16
		want             uint64
	}{
		{"first", at(9), at(21), at(9), 5, 1},
		{"second", at(29), at(41), at(29), 5, 2},
		{"older than the slice", at(0) - 5*second, at(51), at(49), 5, 3},
		{"not ended in the slice", at(59), 3 * second, at(59), 5, 4},
		{"another slot", at(44), at(47), at(44), 6, 9},
		{"older, but its mark was lost", at(0) - 5*second, at(43), at(42), 5, 0},
		{"over before it was marked", at(0), at(25), at(59), 5, 0},
		{"a slot without marks", at(0), at(100), at(0), 7, 0},
	} {
		span := stall.Span{Start: c.held.Add(-b.error), End: c.end.Add(b.error)}
		if got := b.goroutineOf(c.slot, span); got != c.want {
			t.Errorf("%s: got goroutine %d, want %d", c.name, got, c.want)
		}
	}
}

// TestFollowForgetsOldGenerations: an older part of a long window is unseen, and
// no memory grows.
func TestFollowForgetsOldGenerations(t *testing.T) {
	b := newStore(second)
	const generations = 3 * KeptGenerations
	for i := range stall.Instant(generations) {
		start, end := (i+1)*second, (i+2)*second
		g := &gotrace.Generation{
			Span:   stall.Span{Start: start, End: end},
			Tracks: []gotrace.Track{gotrace.NewTrack(7, running(start, end))},
		}
		if i == 0 {
			g.Marks = []gotrace.Mark{mark0(start+1, 7, gotrace.WindowBegin, 0)}
		}
		if i == generations-1 {
			g.Marks = []gotrace.Mark{mark0(end-1, 7, gotrace.WindowEnd, 0)}
		}
		if unfollow, _ := b.Learn(g, nil); len(unfollow) > 0 && i < generations-1 {
			t.Fatalf("generation %d: the goroutine of an open window is not followed further", i)
		}
	}
	w := stall.Window{Start: second, End: (generations + 1) * second}
	if got := len(followed(b, w, 0, w.Start).Track); got != KeptGenerations {
		t.Errorf("%d spans of the last %d generations, want %d", got, generations, KeptGenerations)
	}
}

// TestUnfollow: a goroutine is let go when its last window has ended.
func TestUnfollow(t *testing.T) {
	tracks := []gotrace.Track{gotrace.NewTrack(7, running(second, 2*second))}
	for _, c := range []struct {
		name  string
		marks []gotrace.Mark
		want  int
	}{
		{"begun", []gotrace.Mark{mark0(1, 7, gotrace.WindowBegin, 0)}, 0},
		{"ended", []gotrace.Mark{mark0(1, 7, gotrace.WindowBegin, 0), mark0(2, 7, gotrace.WindowEnd, 0)}, 1},
		{"one within another", []gotrace.Mark{mark0(1, 7, gotrace.WindowBegin, 0), mark0(2, 7, gotrace.WindowBegin, 1), mark0(3, 7, gotrace.WindowEnd, 1)}, 0},
		{"older than the slice", []gotrace.Mark{mark0(1, 7, gotrace.WindowEnd, 0)}, 1},
		{"a mark of somebody else", []gotrace.Mark{mark0(1, 7, gotrace.WindowBegin, 0), {At: 2, Goroutine: 7, Key: gotrace.WindowMarks + "other1"}}, 0},
	} {
		b := newStore(second)
		unfollow, _ := b.Learn(&gotrace.Generation{Span: stall.Span{Start: second, End: 2 * second}, Marks: c.marks, Tracks: tracks}, nil)
		if len(unfollow) != c.want {
			t.Errorf("%s: %d goroutines are let go, want %d", c.name, len(unfollow), c.want)
		}
	}
}
