package resolve

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/otelgc/internal/exact"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// TestHungSources: windows are due at the deadline, whatever the watermarks say.
func TestHungSources(t *testing.T) {
	p := play(t)
	later := p.now.Add(time.Hour)
	if got, want := p.passed(later), later.Add(-timeline.Deadline); got != want {
		t.Errorf("passed: got %d, want %d", got, want)
	}
	p.Timeline.Cycle.Advance(later)
	if got, want := p.passed(later), later.Add(-timeline.Deadline); got != want {
		t.Errorf("passed with a hung exact source: got %d, want %d", got, want)
	}
	p.Tracer.Store.LearnUnseen(later.Add(-time.Second))
	if got, want := p.passed(later), later.Add(-time.Second); got != want {
		t.Errorf("passed: got %d, want the exact source's watermark %d", got, want)
	}
}

// TestTargetSeen: where a source of scope target watched this process is evidence about
// a window.
func TestTargetSeen(t *testing.T) {
	p := play(t)
	p.Board.Watched.Begin(second + 1000)
	p.Board.Watched.Advance(second + 2000)
	p.Board.Watched.Begin(second + 5000)
	p.Board.Watched.Advance(second + 6000)
	e := evidence{o: &p.Options}
	e.gather(stall.Span{Start: second, End: 2 * second})
	w := stall.Window{Start: second + 1200, End: second + 5500}
	want := []stall.Span{{Start: second + 1000, End: second + 2000}, {Start: second + 5000, End: second + 6000}}
	if diff := cmp.Diff(want, e.of(&w, window.NoSlot, stall.Span{}, new(exact.Carrier)).TargetSeen); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
}
