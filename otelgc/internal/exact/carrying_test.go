package exact

import (
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// TestFollowedUntilOver: no mark says that a window has ended. Its goroutine is
// followed until the trace has passed the end, though by then the decoder may be
// behind and the slot another window's.
func TestFollowedUntilOver(t *testing.T) {
	slots := window.NewSlots()
	b := NewStore(second, stall.Clock{}, slots, timeline.New(second))
	open := func(at stall.Instant) window.Open {
		w := window.Open{Slot: slots.Take(), Held: at, Start: at}
		slots.Publish(w)
		return w
	}
	end := func(w window.Open, at stall.Instant) {
		slots.Claim(w.Slot, w.Held)
		slots.Give(w.Slot, at)
	}
	generation := func(i stall.Instant, marks ...gotrace.Mark) *gotrace.Generation {
		return &gotrace.Generation{Span: stall.Span{Start: i * second, End: (i + 1) * second}, Marks: marks}
	}
	begun := func(w window.Open, g uint64) gotrace.Mark {
		return gotrace.Mark{At: w.Start + 100, Goroutine: g, Key: gotrace.WindowBegin.Key(w.Slot)}
	}
	follows := func(when string, want ...uint64) {
		t.Helper()
		for _, g := range want {
			if b.carrying[g] != 1 {
				t.Errorf("%s: goroutine %d carries %d windows, want 1", when, g, b.carrying[g])
			}
		}
		if len(b.carrying) != len(want) || len(b.holders) != len(want) {
			t.Errorf("%s: %v carry windows of %d slots, want %v", when, b.carrying, len(b.holders), want)
		}
	}
	short, long, again := open(second+500), open(second+600), open(second+700)
	end(short, second+1000)
	end(long, 3*second+5000)
	end(again, 2*second+5000)
	reused := window.Open{Slot: again.Slot, Held: 3*second + 1000, Start: 3*second + 1000}
	slots.Publish(reused)

	b.Learn(generation(1, begun(short, 7), begun(long, 8), begun(again, 9)), nil)
	follows("first generation", 8, 9)
	b.Learn(generation(2), nil)
	follows("second", 8, 9) // of the second it is known only that it ended before another had the slot
	b.Learn(generation(3, begun(reused, 10)), nil)
	follows("third", 10)
}

// TestChildrenThatNeverLeaveAreBounded: a child that ends without a word is followed
// no longer, and of those whose end nobody traced a window carries no more than count
// in it, however long it lasts.
func TestChildrenThatNeverLeaveAreBounded(t *testing.T) {
	for _, c := range []struct {
		name  string
		ended bool
		want  int
	}{{"their ends are traced", true, 0}, {"their ends are not", false, maxChildren}} {
		b := newStore(second)
		w := window.Open{Slot: b.slots.Take(), Held: second + 500, Start: second + 500}
		b.slots.Publish(w)
		join := gotrace.WindowJoin.Key(w.Slot)
		for i := range stall.Instant(10 * maxChildren) {
			at := (i + 1) * second
			child := gotrace.NewTrack(uint64(1000+i), inState(at+600, at+900, stall.StateRunning))
			child.Ended = c.ended
			b.Learn(&gotrace.Generation{
				Span:   stall.Span{Start: at, End: at + second},
				Marks:  []gotrace.Mark{{At: at + 700, Goroutine: child.Goroutine, Key: join}},
				Tracks: []gotrace.Track{child},
			}, nil)
		}
		if n := len(b.carrying); n != c.want {
			t.Errorf("%s: %d goroutines are followed, want %d", c.name, n, c.want)
		}
		if n := len(b.holders[w.Slot].children); n != c.want {
			t.Errorf("%s: the window has %d children, want %d", c.name, n, c.want)
		}
	}
}
