package resolve

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestOneStopAtTheEdgeOfASlice: a stop that cycle fidelity places before a slice may
// be the one that the slice saw. It is charged once.
func TestOneStopAtTheEdgeOfASlice(t *testing.T) {
	const (
		ms    = stall.Instant(time.Millisecond)
		slice = 2 * second // begins
	)
	for _, c := range []struct {
		name           string
		of             stall.Cause
		exact          []gotrace.Stop
		want, doubtful time.Duration
	}{
		{"the slice saw it", stall.GCPause,
			[]gotrace.Stop{{Span: stall.Span{Start: slice + 2*ms, End: slice + 3*ms}, GC: true, Phase: gc.SweepTermination}}, 1e6, 1e6},
		{"the slice saw none", stall.GCPause, nil, 1e6, 0},
		{"the slice saw one that it cannot be", stall.GCPause,
			[]gotrace.Stop{{Span: stall.Span{Start: slice + 90*ms, End: slice + 91*ms}, GC: true, Phase: gc.SweepTermination}}, 2e6, 0},
		{"the slice saw one of another cause", stall.RuntimeSuspension,
			[]gotrace.Stop{{Span: stall.Span{Start: slice + 2*ms, End: slice + 3*ms}, GC: true, Phase: gc.SweepTermination}}, 1e6, 0},
		{"a stop of another cause", stall.RuntimeSuspension,
			[]gotrace.Stop{{Span: stall.Span{Start: slice + 2*ms, End: slice + 3*ms}}}, 1e6, 1e6},
	} {
		p := play(t)
		p.Timeline.Cycle.Add(stall.Interval{
			Start: slice - 20*ms, End: slice - 19*ms, Slack: 30 * time.Millisecond, Cause: c.of,
		})
		p.Windows.Requests.Push(window.Ended{Start: slice - 500*ms, End: slice + 500*ms, Slot: window.NoSlot})
		p.Tracer.Store.LearnUnseen(slice)
		p.trace(&gotrace.Generation{Span: stall.Span{Start: slice, End: slice + second}, Stops: c.exact})
		p.see(slice + 2*second)
		p.Tracer.Store.LearnUnseen(slice + 2*second)
		p.see(slice + 3*second)
		if len(p.got) != 1 {
			t.Fatalf("%s: %d windows, want 1", c.name, len(p.got))
		}
		s := p.got[0].s
		if got := s.Charged[c.of]; got != c.want || s.Uncertain != c.doubtful {
			t.Errorf("%s: %v of %v and %v uncertain, want %v and %v", c.name, got, c.of, s.Uncertain, c.want, c.doubtful)
		}
	}
}
