package resolve

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestStorm: a program stops the world all the time, and a window early in a
// generation wants to run meanwhile. Its wait is charged to the stops; where they are
// too many to be kept until it is settled, that it waited for a CPU is no answer.
func TestStorm(t *testing.T) {
	for name, c := range map[string]struct {
		stops int
		want  func(s *stall.Share) bool
	}{
		"that is kept": {25_000, func(s *stall.Share) bool {
			return s.Unseen == 0 && s.Charged[stall.RuntimeSuspension] > s.Total/2-time.Microsecond
		}},
		"of too many": {3 * 65536, func(s *stall.Share) bool {
			return s.Unseen == s.Total && s.Charged == [stall.NumCauses]time.Duration{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := play(t)
			g := gotrace.Generation{Span: stall.Span{Start: p.now, End: p.now + second}}
			every := second / stall.Instant(c.stops)
			for i := range stall.Instant(c.stops) {
				at := g.Start + i*every
				g.Stops = append(g.Stops, gotrace.Stop{Span: stall.Span{Start: at, End: at + every/2}})
			}
			w := p.open(g.Start + 10*every)
			end := w.Start + 100*every
			g.Marks = []gotrace.Mark{{At: w.Start + 1, Goroutine: 7, Key: key(w.Slot, gotrace.WindowBegin)}}
			g.Tracks = []gotrace.Track{gotrace.NewTrack(7, inState(g.Start, g.End, stall.StateRunnable))}
			p.end(w, end)
			p.Tracer.Store.Learn(&g, nil)
			p.see(g.End)
			if len(p.got) != 1 {
				t.Fatalf("%d windows, want 1", len(p.got))
			}
			if s := &p.got[0].s; !c.want(s) {
				t.Errorf("%v: charged %v, unseen %v", s.Total, s.Charged, s.Unseen)
			}
		})
	}
}
