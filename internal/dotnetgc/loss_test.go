package dotnetgc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
	"github.com/otelgc/otelgc/stall"
)

// TestLoss loses each event of a collection in turn: the record says what it
// lacks, or is a hole, and the next one is whole.
func TestLoss(t *testing.T) {
	all := newScript(nettracetest.Options{})
	all.collect(7, 1000, 5, 2, dotnetgc.NonConcurrentGC)
	want := []string{
		"not seen: its stop", "not seen: its stop", "hole", "not seen: GCGlobalHeapHistory", "not seen: GCPerHeapHistory",
		"not seen: GCEnd", "not seen: GCHeapStats", "not seen: the end of a stop", "not seen: the end of a stop",
	}
	for lost, why := range want {
		s := newScript(nettracetest.Options{})
		s.collect(8, 500, 4, 0, dotnetgc.NonConcurrentGC)
		s.collect(7, 900, 99, 0, dotnetgc.NonConcurrentGC)
		s.events = s.events[:9] // thread 7 is not in it, but for its first numbers
		s.flush()
		for i, e := range all.events {
			if i == lost {
				s.flush()
				s.w.Lose(7, 1)
				continue
			}
			s.events = append(s.events, e)
		}
		s.collect(7, 2000, 6, 0, dotnetgc.NonConcurrentGC)
		s.collect(7, 3000, 7, 0, dotnetgc.NonConcurrentGC)
		out, stats := s.play(t)
		if stats.Lost != 1 || len(out.Incomplete) == 0 {
			t.Errorf("event %d: got %+v, %q, want the loss", lost, stats, whys(out))
		}
		got := make(map[uint64]string)
		for _, c := range out.Collections {
			got[c.Index] = c.Incomplete
		}
		five, seen := got[5]
		if why == "hole" {
			if seen || !strings.Contains(strings.Join(whys(out), ";"), "5") {
				t.Errorf("event %d: got %q and %q", lost, five, whys(out))
			}
		} else if !strings.HasPrefix(five, why) {
			t.Errorf("event %d: got %q, want %q", lost, five, why)
		}
		if lost != 5 && got[6] != "" || got[7] != "" || !seenAll(got, 4, 6, 7) {
			t.Errorf("event %d: got %v, want those around it whole", lost, got)
		}
	}
}

func seenAll(m map[uint64]string, keys ...uint64) bool {
	for _, k := range keys {
		if _, ok := m[k]; !ok {
			return false
		}
	}
	return true
}

// TestLossOfOthers loses events of another thread while a collection runs: no
// part of it is missing, but nobody knows.
func TestLossOfOthers(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.collect(7, 1000, 5, 1, dotnetgc.NonConcurrentGC)
		s.suspend(8, 1030, dotnetgc.Other)
		s.suspended(8, 1031)
		s.flush()
		s.collect(7, 2000, 6, 1, dotnetgc.NonConcurrentGC)
		s.flush()
		s.w.Lose(8, 2)
		s.restart(8, 2008)
		s.restarted(8, 2009)
		s.collect(7, 3000, 7, 1, dotnetgc.NonConcurrentGC)
		out, stats := s.play(t)
		var got []string
		for _, c := range out.Collections {
			got = append(got, c.Incomplete)
		}
		if diff := cmp.Diff([]string{"", "events were lost while it ran", ""}, got); diff != "" || stats.Lost != 2 {
			t.Errorf("%+v (-want +got):\n%s", stats, diff)
		}
		hole := dotnetgc.Hole{Span: stall.Span{Start: s.at(1031), End: s.at(2008)}, Why: "events were lost", Lost: 2}
		if diff := cmp.Diff([]dotnetgc.Hole{hole}, out.Incomplete); diff != "" {
			t.Errorf("holes (-want +got):\n%s", diff)
		}
	})
}
