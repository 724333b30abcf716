package otelgc

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// TestFollowedUntilOver: no mark says that a window has ended. Its goroutine is
// followed until the trace has passed the end, though by then the decoder may be
// behind and the slot another window's.
func TestFollowedUntilOver(t *testing.T) {
	p := play(t)
	generation := func(i stall.Instant, marks ...gotrace.Mark) *gotrace.Generation {
		return &gotrace.Generation{Span: stall.Span{Start: i * second, End: (i + 1) * second}, Marks: marks}
	}
	begun := func(w window.Open, g uint64) gotrace.Mark {
		return gotrace.Mark{At: w.Start + 100, Goroutine: g, Key: gotrace.WindowBegin.Key(w.Slot)}
	}
	follows := func(when string, want ...uint64) {
		t.Helper()
		for _, g := range want {
			if p.store.carrying[g] != 1 {
				t.Errorf("%s: goroutine %d carries %d windows, want 1", when, g, p.store.carrying[g])
			}
		}
		if len(p.store.carrying) != len(want) || len(p.store.holders) != len(want) {
			t.Errorf("%s: %v carry windows of %d slots, want %v", when, p.store.carrying, len(p.store.holders), want)
		}
	}
	short, long, again := p.open(second+500), p.open(second+600), p.open(second+700)
	p.end(short, second+1000)
	p.end(long, 3*second+5000)
	p.end(again, 2*second+5000)
	reused := window.Open{Slot: again.Slot, Held: 3*second + 1000, Start: 3*second + 1000}
	p.windows.slots.Publish(reused)

	p.learnGeneration(generation(1, begun(short, 7), begun(long, 8), begun(again, 9)), nil)
	follows("first generation", 8, 9)
	p.learnGeneration(generation(2), nil)
	follows("second", 8, 9) // of the second it is known only that it ended before another had the slot
	p.learnGeneration(generation(3, begun(reused, 10)), nil)
	follows("third", 10)
}

// spy counts the marks that the decoder finds.
type spy struct {
	learner
	begins, ends atomic.Int64
}

func (s *spy) learnGeneration(g *gotrace.Generation, pace *pacer.Pacer) []uint64 {
	for _, m := range appendMarks(nil, g.Marks) {
		if m.kind == gotrace.WindowBegin {
			s.begins.Add(1)
		} else {
			s.ends.Add(1)
		}
	}
	return s.learner.learnGeneration(g, pace)
}

// TestEndsAreMarkedForOthers: who reads the trace with us learns of the ends by
// marks. Without him there are none, but for a window that is older than its
// slice.
func TestEndsAreMarkedForOthers(t *testing.T) {
	skipIfTraced(t)
	var s spy
	m := startTest(t, WithExactBudget(1), seam(func(x *exact) { s.learner, x.learn = x.learn, &s }))
	waitMarking(t, m)
	work := func() {
		waitMarking(t, m)
		for range 100 {
			w := m.Begin(t.Context())
			w.End()
			entry.Of(m).Release(entry.Of(m).Mark(0))
		}
		turnover(t, m)
	}
	until(t, "marks", func() bool { work(); return s.begins.Load() > 100 })
	if begins, ends := s.begins.Load(), s.ends.Load(); ends > begins/10 {
		t.Errorf("%d begins and %d ends, which nobody reads", begins, ends)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.TraceHandler().ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/?seconds=300", nil))
	}()
	before := s.ends.Load()
	until(t, "ends", func() bool { work(); return s.ends.Load() > before+100 })
	cancel()
	<-done
	if m.exact.shared() {
		t.Error("the ends are marked for a reader who is gone")
	}
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
		p := play(t)
		w := p.open(second + 500)
		join := gotrace.WindowJoin.Key(w.Slot)
		for i := range stall.Instant(10 * maxChildren) {
			at := (i + 1) * second
			child := gotrace.NewTrack(uint64(1000+i), inState(at+600, at+900, stall.StateRunning))
			child.Ended = c.ended
			p.learnGeneration(&gotrace.Generation{
				Span:   stall.Span{Start: at, End: at + second},
				Marks:  []gotrace.Mark{{At: at + 700, Goroutine: child.Goroutine, Key: join}},
				Tracks: []gotrace.Track{child},
			}, nil)
		}
		if n := len(p.store.carrying); n != c.want {
			t.Errorf("%s: %d goroutines are followed, want %d", c.name, n, c.want)
		}
		if n := len(p.store.holders[w.Slot].children); n != c.want {
			t.Errorf("%s: the window has %d children, want %d", c.name, n, c.want)
		}
	}
}
