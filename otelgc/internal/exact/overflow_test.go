package exact

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// TestOverflow: of children beyond those that count nobody knows what they did. What
// the window waits while there are any is unseen, not its own doing; what it waits
// without them is.
func TestOverflow(t *testing.T) {
	const extra = 3
	marks := []gotrace.Mark{slot0(1000, 1, gotrace.WindowBegin)}
	tracks := []gotrace.Track{statesOf(1,
		inState(1, 1500, stall.StateRunning), inState(1500, 9000, stall.StateParked), inState(9000, 10_000, stall.StateRunning))}
	at := stall.Instant(2000)
	for g := range uint64(maxChildren) { // one after the other
		tracks = append(tracks, statesOf(10+g, inState(1, 10_000, stall.StateParked)))
		marks = append(marks, slot0(at, 10+g, gotrace.WindowJoin), slot0(at+10, 10+g, gotrace.WindowLeave))
		at += 20
	}
	for g := range uint64(extra) {
		marks = append(marks, slot0(5000, 1000+g, gotrace.WindowJoin))
	}
	for g := range uint64(extra) {
		marks = append(marks, slot0(7000, 1000+g, gotrace.WindowLeave))
	}
	marks = append(marks, slot0(8000, 2000, gotrace.WindowLeave)) // that joined unseen
	b := newStore(1)
	span := stall.Span{Start: 1, End: 10_000}
	b.Learn(&gotrace.Generation{
		Span: span, Marks: marks, Tracks: tracks,
	}, nil)
	w := stall.Window{Start: 1000, End: 9500}
	e := followed(b, w, 0, 1000)
	e.Seen = []stall.Span{span}
	var j stall.Joiner
	var got stall.Share
	j.Join(&w, &e, &got)
	want := stall.Share{Total: 8500, App: 5500, AppOrHost: 1000, Unseen: 2000}
	if diff := cmp.Diff([]any{want.Total, want.App, want.AppOrHost, want.Unseen}, []any{got.Total, got.App, got.AppOrHost, got.Unseen}); diff != "" {
		t.Errorf("total, app, app or host, unseen (-want +got):\n%s", diff)
	}
	if n := b.TakeOverflow(); n != extra {
		t.Errorf("%d children do not count, want %d", n, extra)
	}
}

// TestOverflowStays: an overflow that has not left is there in the next piece, too, until
// nobody knows who is.
func TestOverflowStays(t *testing.T) {
	by := &Carrier{}
	for i := range stall.Instant(maxChildren + 2) {
		by.learn([]mark{{at: 10 + i, goroutine: uint64(i + 1), kind: gotrace.WindowJoin}}, func(j mark) stall.Instant { return j.at })
	}
	parked := func(from, to stall.Instant) []stall.StateSpan {
		return []stall.StateSpan{{Start: from, End: to, State: stall.StateParked}}
	}
	for _, piece := range []struct {
		dispersed   stall.Instant // 0 for not
		track, want []stall.StateSpan
	}{
		{0, parked(50, 200), parked(50, 10+maxChildren)},
		{0, parked(200, 300), []stall.StateSpan{}},
		{350, parked(300, 400), parked(350, 400)},
		{0, parked(400, 500), parked(400, 500)},
	} {
		if piece.dispersed != 0 {
			by.overflow.endAll(piece.dispersed)
		}
		e := stall.Evidence{Track: piece.track}
		by.overflow.hide(&e)
		if diff := cmp.Diff(piece.want, e.Track); diff != "" {
			t.Errorf("what is known to be its own waiting (-want +got):\n%s", diff)
		}
	}
}

// TestOverflowsAreBounded: overflows of one piece beyond those that are told apart are one
// with what lies between them, and however many there are, the track is gone over
// once.
func TestOverflowsAreBounded(t *testing.T) {
	const overflows, every = 1000, 100
	var c overflow
	e := stall.Evidence{Track: make([]stall.StateSpan, 0, 4*overflows)}
	for at := stall.Instant(0); at < overflows*every; at += every {
		c.join(at)
		c.leave(at + 10)
		e.Track = append(e.Track,
			stall.StateSpan{Start: at, End: at + 50, State: stall.StateParked},
			stall.StateSpan{Start: at + 50, End: at + every, State: stall.StateRunning})
	}
	if got := len(c.past); got != maxOverflows {
		t.Errorf("%d overflows are kept, want %d", got, maxOverflows)
	}
	last := stall.Instant(overflows-1) * every
	var want []stall.StateSpan
	for at := stall.Instant(0); at <= last; at += every {
		if from := at + 10; at < (maxOverflows-1)*every || at == last {
			want = append(want, stall.StateSpan{Start: from, End: at + 50, State: stall.StateParked})
		}
		want = append(want, stall.StateSpan{Start: at + 50, End: at + every, State: stall.StateRunning})
	}
	past, track := slices.Clone(c.past), slices.Clone(e.Track)
	allocs := testing.AllocsPerRun(1, func() {
		c.past, e.Track = append(c.past[:0], past...), append(e.Track[:0], track...)
		c.hide(&e)
	})
	if diff := cmp.Diff(want, e.Track); diff != "" {
		t.Errorf("what is known to be its own waiting (-want +got):\n%s", diff)
	}
	if allocs > 1 {
		t.Errorf("%v allocations, want 1, for the track as it was", allocs)
	}
}

// TestOverflowsHideOneWait: several overflows fall into one wait, and one into none; a
// wait for the collector stays, and so does what is no wait.
func TestOverflowsHideOneWait(t *testing.T) {
	const run, parked = stall.StateRunning, stall.StateParked
	var c overflow
	for _, s := range []stall.Span{{Start: 5, End: 20}, {Start: 30, End: 40}, {Start: 50, End: 60}, {Start: 65, End: 66}, {Start: 75, End: 85}} {
		c.join(s.Start)
		c.leave(s.End)
	}
	c.join(110) // and stays
	e := stall.Evidence{
		Track: []stall.StateSpan{
			{Start: 0, End: 10, State: parked}, {Start: 10, End: 15, State: run}, {Start: 15, End: 60, State: parked},
			{Start: 60, End: 70, State: run}, {Start: 70, End: 90, State: parked}, {Start: 90, End: 120, State: parked},
		},
		Own: []stall.Interval{own(70, 90, stall.GCWait)},
	}
	c.hide(&e)
	want := []stall.StateSpan{
		{Start: 0, End: 5, State: parked}, {Start: 10, End: 15, State: run}, {Start: 20, End: 30, State: parked},
		{Start: 40, End: 50, State: parked}, {Start: 60, End: 70, State: run}, {Start: 70, End: 110, State: parked},
	}
	if diff := cmp.Diff(want, e.Track); diff != "" {
		t.Errorf("what is known to be its own waiting (-want +got):\n%s", diff)
	}
}

// TestLostLeaveFirst: a child that was lost from sight and leaves later takes none
// off the overflow that is there by then: what the window waits for that is not its own
// doing.
func TestLostLeaveFirst(t *testing.T) {
	const (
		begin, join, leave = gotrace.WindowBegin, gotrace.WindowJoin, gotrace.WindowLeave
		lost, later        = 1000, 2000 // the first goroutine of each
		over               = 2          // that make the later overflow
	)
	for _, c := range []struct {
		name   string
		before int // lost ones
		pieces []stall.Span
	}{
		{"in the next piece", 1, []stall.Span{{Start: 1000, End: 12_000}, {Start: 12_000, End: 40_000}}},
		{"in the same piece", 1, []stall.Span{{Start: 1000, End: 40_000}}},
		{"of an overflow", maxChildren + 1, []stall.Span{{Start: 1000, End: 12_000}, {Start: 12_000, End: 40_000}}},
	} {
		slots := window.NewSlots()
		slots.Leave(0) // nobody knows whose child
		b := NewStore(1, stall.Clock{}, slots, timeline.New(1))
		room := maxChildren
		if len(c.pieces) == 1 {
			room -= c.before // they count until the piece is over
		}
		first, second := []gotrace.Mark{slot0(1000, 1, begin)}, []gotrace.Mark(nil)
		for g := range uint64(c.before) {
			first = append(first, slot0(2000, lost+g, join))
		}
		for g := range uint64(room) {
			second = append(second, slot0(20_500, later+g, join))
		}
		for g := range uint64(over) {
			second = append(second, slot0(21_000, later+uint64(room)+g, join))
		}
		for g := range uint64(c.before) {
			second = append(second, slot0(22_000, lost+g, leave))
		}
		for g := range uint64(over - 1) {
			second = append(second, slot0(23_000, later+uint64(room)+g, leave))
		}
		parked := func(s stall.Span) []gotrace.Track {
			list := []gotrace.Track{statesOf(1, inState(s.Start, s.End, stall.StateParked))}
			for g := range uint64(max(c.before, room)) {
				list = append(list, statesOf(lost+g, inState(s.Start, s.End, stall.StateParked)), statesOf(later+g, inState(s.Start, s.End, stall.StateParked)))
			}
			return list
		}
		seen := []stall.Span{{Start: 1, End: 10_000}, {Start: 20_000, End: 40_000}}
		b.Learn(&gotrace.Generation{Span: seen[0], Marks: first, Tracks: parked(seen[0])}, nil)
		b.Learn(&gotrace.Generation{Span: seen[1], Marks: second, Tracks: parked(seen[1])}, nil)
		var by Carrier
		var e stall.Evidence
		for _, s := range c.pieces {
			e = stall.Evidence{}
			b.Follow(&e, &stall.Window{Start: s.Start, End: s.End}, 0, stall.Span{Start: 1000, End: 40_000}, &by)
		}
		want := stall.StateSpan{Start: 20_000, End: 21_000, State: stall.StateParked}
		if diff := cmp.Diff(want, e.Track[len(e.Track)-1]); diff != "" {
			t.Errorf("%s: the last that is known to be its own waiting (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestQuietLeave: of children that were lost from sight, those that left where nobody
// traced will not leave again: an overflow that leaves later is gone.
func TestQuietLeave(t *testing.T) {
	for _, c := range []struct{ lost, quiet, leaves, want int }{
		{lost: 2, quiet: 2, leaves: 1, want: 0},
		{lost: 2, quiet: 1, leaves: 1, want: 1},
		{lost: 2, quiet: 1, leaves: 2, want: 0},
		{lost: 2, quiet: 0, leaves: 2, want: 1},
	} {
		by := overflow{lost: c.lost, quiet: c.quiet}
		by.join(10)
		for range c.leaves {
			by.leave(20)
		}
		if by.n != c.want {
			t.Errorf("%+v: %d are there still", c, by.n)
		}
	}
}

// TestQuietLeaveIsTheWindows: what is told of a slot that another window has by now
// is none of it.
func TestQuietLeaveIsTheWindows(t *testing.T) {
	s := window.NewSlots()
	slot := s.Take()
	s.Publish(window.Open{Slot: slot, Held: 7, Start: 7})
	s.Leave(slot)
	if n, ok := s.LeftUnmarked(slot, 7); n != 1 || !ok {
		t.Errorf("left unmarked: %d %v, want the window's 1", n, ok)
	}
	s.Claim(slot, 7)
	if _, ok := s.LeftUnmarked(slot, 7); ok {
		t.Error("the slot is nobody's, and a child of the window's left")
	}
}
