package dotnetgc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestBlocking reads every field of one collection.
func TestBlocking(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.collect(7, 1000, 1, 1, dotnetgc.NonConcurrentGC)
		out, stats := s.play(t)
		clean(t, out, stats)
		known := func(n uint64) gc.Maybe[gc.Bytes] { return gc.Known(gc.Bytes(n)) }
		var generations []gc.Generation
		for g := range uint64(5) {
			b := 1000 + 10*g
			v := gc.Generation{
				ID: gc.GenerationID(g), SizeBefore: known(b), FragmentationBefore: known(2*b + 3),
				SizeAfter: known(b + 3), FragmentationAfter: known(2*b + 9), Budget: known(b + 9),
			}
			if g <= 1 { // collected
				v.Promoted, v.Survived = known(5000+g), known(2*b+15)
			}
			generations = append(generations, v)
		}
		paused := s.at(1015).Sub(s.at(1000))
		want := gc.Collection{
			Index: 1, Cycles: 1, Kind: gc.Ephemeral, Generation: gc.Known(1), Trigger: "AllocSmall",
			Start: gc.Known(s.at(1003)), End: gc.Known(s.at(1012)),
			Pauses: []gc.Pause{{
				Start: s.at(1000), End: s.at(1015), EndMax: s.at(1020), Suspend: gc.Known(s.at(1002).Sub(s.at(1000))),
			}},
			Promoted: known(5*5000 + 10), HeapBefore: known(5*1000 + 100), HeapAfter: known(5*500 + 10),
			FragmentationBefore: known(2*5100 + 15), FragmentationAfter: known(2*5100 + 45),
			PauseUtilization: gc.Known(float64(paused) / float64(s.at(1015))), UtilizationSince: gc.Known(stall.Instant(0)),
			Compacting: gc.Known(true), Concurrent: gc.Known(false), Generations: generations,
			Pinned: gc.Known(uint64(3)), Finalizable: gc.Known(uint64(5)), MemoryLoad: gc.Known(0.42),
			// Of what is said of the first one's heap, more is free than there is.
			Allocated: known(0),
			Origin:    stall.Dotnet, Fidelity: stall.Exact,
		}
		if len(out.Collections) != 1 || len(out.Stops) != 1 {
			t.Fatalf("got %d collections, %d stops", len(out.Collections), len(out.Stops))
		}
		if diff := cmp.Diff(want, out.Collections[0].Collection, compareMaybe); diff != "" {
			t.Errorf("collection (-want +got):\n%s", diff)
		}
		interval := stall.Interval{Start: s.at(1000), End: s.at(1015), Cause: stall.GCPause, Origin: stall.Dotnet, Ref: 1}
		if diff := cmp.Diff(interval, out.Stops[0].Interval()); diff != "" {
			t.Errorf("interval (-want +got):\n%s", diff)
		}
	})
}

// TestPauseMode: a mode without a name is not known.
func TestPauseMode(t *testing.T) {
	const none = dotnetgc.PauseMode(99)
	for mode, want := range map[uint32]dotnetgc.PauseMode{0: 0, 4: 4, 5: none, 1 << 31: none} {
		s := newScript(machines["linux, 64 bit"])
		s.mode = mode
		s.collect(7, 1000, 1, 1, dotnetgc.NonConcurrentGC)
		out, stats := s.play(t)
		clean(t, out, stats)
		if len(out.Collections) != 1 || out.Collections[0].PauseMode.Or(none) != want {
			t.Errorf("mode %d: got %+v, want it to be %v", mode, out.Collections, want)
		}
	}
}

// TestBackgroundWithOthers has all three that can be at once: an ephemeral
// collection in the first stop of a background one, which is charged the stop,
// and a foreground one later, with a stop of its own.
func TestBackgroundWithOthers(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.suspend(7, 1000, dotnetgc.ForGC)
		s.suspended(7, 1002)
		s.start(7, 1003, 4, 2, 4, dotnetgc.BackgroundGC)
		s.start(7, 1005, 5, 0, 4, dotnetgc.NonConcurrentGC)
		s.global(7, 1006, 1, 0, blocking)
		s.heap(7, 1007, 0, 100)
		s.end(7, 1008, 5, 0)
		s.stats(7, 1009, 50)
		s.restart(7, 1010)
		s.restarted(7, 1030)
		s.collect(8, 1100, 6, 1, dotnetgc.ForegroundGC)
		s.stop(9, 1200, 1210, dotnetgc.ForGCPrep)
		s.global(9, 1300, 1, 2, concurrent)
		s.heap(9, 1301, 0, 300)
		s.end(9, 1302, 4, 2)
		s.stats(9, 1303, 200)
		out, stats := s.play(t)
		clean(t, out, stats)
		check(t, []facts{
			{5, "ephemeral", 0, [][3]stall.Instant{{s.at(1000), s.at(1010), s.at(1030)}}, 1, s.at(1030).Sub(s.at(1005)), ""},
			{6, "ephemeral", 1, [][3]stall.Instant{{s.at(1100), s.at(1115), s.at(1120)}}, 1, s.at(1120).Sub(s.at(1100)), ""},
			{4, "background", 2, [][3]stall.Instant{{s.at(1200), s.at(1210), s.at(1211)}}, 2,
				s.at(1002).Sub(s.at(1000)) + s.at(1211).Sub(s.at(1200)), ""},
		}, out)
		var ran [][]uint64
		for _, stop := range out.Stops {
			ran = append(ran, stop.Collections)
		}
		if diff := cmp.Diff([][]uint64{{4, 5}, {6}, {4}}, ran); diff != "" {
			t.Errorf("collections of the stops (-want +got):\n%s", diff)
		}
		background := out.Collections[2]
		for _, g := range background.Generations {
			young := g.ID < gc.Gen2
			if young != g.Survived.IsZero() || young != g.Promoted.IsZero() {
				t.Errorf("%v of a background collection: got %+v, want only what it collected", g.ID, g)
			}
		}
	})
}

// TestBackgroundThatRanBlocking was announced as one and was none.
func TestBackgroundThatRanBlocking(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.collect(7, 1000, 3, 2, dotnetgc.BackgroundGC)
		out, stats := s.play(t)
		clean(t, out, stats)
		check(t, []facts{
			{3, "full_blocking", 2, [][3]stall.Instant{{s.at(1000), s.at(1015), s.at(1020)}}, 1, s.at(1002).Sub(s.at(1000)), ""},
		}, out)
		if c := out.Collections[0]; c.Type != dotnetgc.BackgroundGC || c.Concurrent.Or(true) {
			t.Errorf("announced %v, concurrent %v", c.Type, c.Concurrent)
		}
	})
}

// TestProvisionalMode has two blocking collections in one stop, which they
// share.
func TestProvisionalMode(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.suspend(7, 1000, dotnetgc.ForGC)
		s.suspended(7, 1002)
		for number, at := uint32(1), uint64(1010); number <= 2; number, at = number+1, at+100 {
			reason := dotnetgc.Reason(0)
			if number == 2 {
				reason = dotnetgc.PMFullGC
			}
			s.start(7, at, number, number, reason, dotnetgc.NonConcurrentGC)
			s.global(7, at+6, 1, number, blocking)
			s.heap(7, at+7, 0, 100)
			s.end(7, at+8, number, number)
			s.stats(7, at+9, 50)
		}
		s.restart(7, 1150)
		s.restarted(7, 1160)
		out, stats := s.play(t)
		clean(t, out, stats)
		check(t, []facts{
			{1, "ephemeral", 1, [][3]stall.Instant{{s.at(1000), s.at(1110), s.at(1110)}}, 1, 0, ""},
			{2, "full_blocking", 2, [][3]stall.Instant{{s.at(1110), s.at(1150), s.at(1160)}}, 1, s.at(1160).Sub(s.at(1110)), ""},
		}, out)
	})
}

// TestSameTick has a clock so coarse that the end of suspending and the start of
// the collection, on another thread, are one tick.
func TestSameTick(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.suspend(20, 1000, dotnetgc.ForGC)
		s.start(21, 1002, 8, 0, 0, dotnetgc.NonConcurrentGC)
		s.suspended(20, 1002)
		s.global(21, 1010, 1, 0, blocking)
		s.heap(21, 1010, 0, 100)
		s.end(21, 1010, 8, 0)
		s.stats(21, 1010, 50)
		s.restart(20, 1010)
		s.restarted(20, 1010)
		out, stats := s.play(t)
		clean(t, out, stats)
		check(t, []facts{
			{8, "ephemeral", 0, [][3]stall.Instant{{s.at(1000), s.at(1010), s.at(1010)}}, 1, s.at(1010).Sub(s.at(1000)), ""},
		}, out)
	})
}
