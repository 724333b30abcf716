package stall

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		s     Span
		want  time.Duration
		empty bool
	}{
		{Span{10, 30}, 20, false},
		{Span{10, 10}, 0, true},
		{Span{30, 10}, 0, true},
		{Span{math.MinInt64, math.MaxInt64}, math.MaxInt64, false},
		{Span{math.MaxInt64, math.MinInt64}, 0, true},
		{Span{-5, 5}, 10, false},
	} {
		if got := c.s.Duration(); got != c.want {
			t.Errorf("%v.Duration: got %d, want %d", c.s, got, c.want)
		}
		if got := c.s.Empty(); got != c.empty {
			t.Errorf("%v.Empty: got %v, want %v", c.s, got, c.empty)
		}
	}
	if got, want := (Span{10, 30}).Clip(Span{20, 40}), (Span{20, 30}); got != want {
		t.Errorf("Clip: got %v, want %v", got, want)
	}
	if got := (Span{10, 30}).Clip(Span{30, 40}); !got.Empty() {
		t.Errorf("Clip of neighbours: got %v, want an empty span", got)
	}
	v := Interval{Start: 10, End: 30}
	if got := v.Duration(); got != 20 {
		t.Errorf("Interval.Duration: got %d, want 20", got)
	}
}

func TestInstantsSaturate(t *testing.T) {
	for _, c := range []struct {
		t    Instant
		d    time.Duration
		want Instant
	}{
		{10, 5, 15},
		{10, -15, -5},
		{math.MaxInt64 - 1, 5, math.MaxInt64},
		{math.MinInt64 + 1, -5, math.MinInt64},
		{math.MinInt64, math.MaxInt64, -1},
	} {
		if got := c.t.plus(c.d); got != c.want {
			t.Errorf("%d.plus(%d): got %d, want %d", c.t, c.d, got, c.want)
		}
	}
}

func TestWindowExtent(t *testing.T) {
	for _, c := range []struct {
		name string
		w    Window
		want Span
	}{
		{"handler", Window{Start: 10, End: 20}, Span{10, 20}},
		{"from arrival to receipt", Window{Start: 10, End: 20, Arrival: 5, Receipt: 25}, Span{5, 25}},
		{"arrival after start", Window{Start: 10, End: 20, Arrival: 15}, Span{10, 20}},
		{"receipt before end", Window{Start: 10, End: 20, Receipt: 15}, Span{10, 20}},
		{"zero is not known", Window{Start: -20, End: -10}, Span{-20, -10}},
	} {
		if got := c.w.Extent(); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestShareFigures(t *testing.T) {
	s := Share{Total: 100, Covered: 25}
	for c := range NumCauses {
		s.Charged[c] = 1 << c
	}
	if got, want := s.GC(), time.Duration(1<<GCPause|1<<GCAssist|1<<GCSweep|1<<GCWait); got != want {
		t.Errorf("GC: got %d, want %d", got, want)
	}
	if got := s.Coverage(); got != 0.25 {
		t.Errorf("Coverage: got %v, want 0.25", got)
	}
	if got := (&Share{}).Coverage(); got != 1 {
		t.Errorf("Coverage of an empty window: got %v, want 1", got)
	}
}

// TestShareAdd: the shares of two pieces of a window sum to that of the whole,
// which was followed if both pieces were.
func TestShareAdd(t *testing.T) {
	e := Evidence{
		Process: []Interval{{Start: 20, End: 30, Cause: GCPause}, {Start: 70, End: 90, Cause: GCPause}},
		Own:     []Interval{{Start: 40, End: 60, Cause: GCAssist}},
		Track:   []StateSpan{{10, 65, StateRunning}, {65, 80, StateParked}, {80, 200, StateRunning}},
	}
	for seen, want := range map[Span]Fidelity{{0, 200}: Exact, {0, 90}: Cycle, {50, 200}: Cycle} {
		e.Seen = []Span{seen}
		var j Joiner
		var whole, first, second Share
		j.Join(&Window{Start: 10, End: 100}, &e, &whole)
		j.Join(&Window{Start: 10, End: 50}, &e, &first)
		j.Join(&Window{Start: 50, End: 100}, &e, &second)
		var got Share
		got.Add(&first)
		got.Add(&second)
		if diff := cmp.Diff(whole, got); diff != "" {
			t.Errorf("seen %v: share (-whole +sum):\n%s", seen, diff)
		}
		if got.Fidelity != want {
			t.Errorf("seen %v: fidelity %v, want %v", seen, got.Fidelity, want)
		}
	}
}
