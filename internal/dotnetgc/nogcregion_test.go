package dotnetgc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
)

// TestNoGCRegion has stops in which the runtime counts a collection and makes
// none. A number that no such stop explains is of one that was not seen.
func TestNoGCRegion(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.collect(7, 1000, 1, 0, dotnetgc.NonConcurrentGC)
		s.stop(7, 1100, 1110, dotnetgc.ForGC)
		s.stop(8, 1120, 1130, dotnetgc.ForGC)
		s.stop(8, 1140, 1150, dotnetgc.Other)
		s.collect(7, 1200, 4, 0, dotnetgc.NonConcurrentGC)
		out, stats := s.play(t)
		clean(t, out, stats)
		if len(out.Collections) != 2 || out.Collections[1].Index != 4 || out.Collections[1].Allocated.IsZero() || len(out.Stops) != 5 {
			t.Errorf("got %+v", out)
		}
	})
	s := newScript(machines["linux, 64 bit"])
	s.collect(7, 1000, 1, 0, dotnetgc.NonConcurrentGC)
	s.stop(7, 1100, 1110, dotnetgc.ForGC)
	s.collect(7, 1200, 3, 0, dotnetgc.NonConcurrentGC)
	s.collect(7, 1300, 5, 0, dotnetgc.NonConcurrentGC)
	out, _ := s.play(t)
	if diff := cmp.Diff([]string{"collections 4 to 4 were not seen"}, whys(out)); diff != "" {
		t.Errorf("holes (-want +got):\n%s", diff)
	}
}

// TestNoGCRegionWithLoss: a stop in which events were lost explains no number.
func TestNoGCRegionWithLoss(t *testing.T) {
	s := newScript(machines["linux, 64 bit"])
	s.stop(8, 900, 910, dotnetgc.Other)
	s.collect(7, 1000, 1, 0, dotnetgc.NonConcurrentGC)
	s.suspend(7, 1100, dotnetgc.ForGC)
	s.suspended(7, 1101)
	s.flush()
	s.w.Lose(8, 1)
	s.stop(8, 1105, 1106, dotnetgc.Other)
	s.restart(7, 1110)
	s.restarted(7, 1111)
	s.collect(7, 1200, 3, 0, dotnetgc.NonConcurrentGC)
	out, _ := s.play(t)
	if diff := cmp.Diff([]string{"events were lost", "collections 2 to 2 were not seen"}, whys(out)); diff != "" {
		t.Errorf("holes (-want +got):\n%s", diff)
	}
}
