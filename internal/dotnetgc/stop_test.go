package dotnetgc_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestInterleavedStops has threads that wait for the lock while another has it.
func TestInterleavedStops(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.suspend(1, 100, dotnetgc.Other)
		s.suspend(2, 105, dotnetgc.ForGC)
		s.suspended(1, 110)
		s.suspend(3, 112, dotnetgc.SuspendReason(5))
		s.restart(1, 120)
		s.suspended(2, 125)
		s.restarted(1, 126)
		s.restart(2, 140)
		s.restarted(2, 141)
		s.suspended(3, 150)
		s.restart(3, 160)
		s.restarted(3, 200)
		out, stats := s.play(t)
		clean(t, out, stats)
		at := s.at
		stop := func(thread uint64, r dotnetgc.SuspendReason, a, b, c, d uint64, blocked stall.Instant) dotnetgc.Stop {
			return dotnetgc.Stop{
				Thread: thread, Reason: r, Begin: at(a), Suspended: at(b), RestartBegin: at(c), RestartEnd: at(d), Blocked: blocked,
			}
		}
		want := []dotnetgc.Stop{
			stop(1, dotnetgc.Other, 100, 110, 120, 126, 0),
			stop(2, dotnetgc.ForGC, 105, 125, 140, 141, at(120)),
			stop(3, 5, 112, 150, 160, 200, at(140)),
		}
		if diff := cmp.Diff(want, out.Stops); diff != "" {
			t.Errorf("stops (-want +got):\n%s", diff)
		}
		causes := []stall.Cause{stall.RuntimeSuspension, stall.GCPause, stall.RuntimeSuspension}
		names := []string{"Other", "ForGC", "ForDebugger"}
		for i, got := range out.Stops {
			if got.Interval().Cause != causes[i] || got.Reason.String() != names[i] {
				t.Errorf("stop %d: got %v %v, want %v %v", i, got.Interval().Cause, got.Reason, causes[i], names[i])
			}
		}
	})
}

// TestWaitingForTheLock has a collection whose thread waits while others stop
// the world: its pause is what it stopped itself, and no instant is counted
// twice.
func TestWaitingForTheLock(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.collect(2, 10, 4, 0, dotnetgc.NonConcurrentGC)
		s.suspend(1, 100, dotnetgc.Other)
		s.suspended(1, 101)
		s.suspend(3, 150, dotnetgc.Other)
		s.suspend(2, 200, dotnetgc.ForGC)
		s.restart(1, 50200)
		s.restarted(1, 50201)
		s.suspended(3, 50250)
		s.restart(3, 50280)
		s.restarted(3, 50281)
		s.suspended(2, 50300)
		s.start(2, 50301, 5, 0, 0, dotnetgc.NonConcurrentGC)
		s.global(2, 50310, 1, 0, blocking)
		s.heap(2, 50311, 0, 100)
		s.end(2, 50312, 5, 0)
		s.stats(2, 50313, 100)
		s.restart(2, 52300)
		s.restarted(2, 52301)
		out, stats := s.play(t)
		clean(t, out, stats)
		c, at := out.Collections[1], s.at
		want := []gc.Pause{{Start: at(50280), End: at(52300), EndMax: at(52301), Suspend: gc.Known(at(50300).Sub(at(50280)))}}
		if diff := cmp.Diff(want, c.Pauses, cmp.AllowUnexported(gc.Maybe[time.Duration]{}, gc.Maybe[uint64]{})); diff != "" {
			t.Errorf("pauses (-want +got):\n%s", diff)
		}
		paused := out.Collections[0].PauseTotal() + c.PauseTotal()
		watched := at(52300).Sub(c.UtilizationSince.Or(0))
		if got, want := c.PauseUtilization.Or(0), float64(paused)/float64(watched); got != want {
			t.Errorf("share of time paused: got %v, want %v", got, want)
		}
		var end stall.Instant
		for _, v := range out.Stops {
			if i := v.Interval(); i.Start < end {
				t.Errorf("%v begins at %d, before the one before it ends at %d", i.Cause, i.Start, end)
			} else {
				end = i.End
			}
		}
	})
}

// TestBackOff has a thread that lets the world run again before it stopped it,
// twice, and another that stops it in between.
func TestBackOff(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.suspend(1, 100, dotnetgc.ForGC)
		s.restart(1, 110)
		s.restarted(1, 111)
		s.stop(2, 112, 114, dotnetgc.Other)
		s.restart(1, 120)
		s.restarted(1, 121)
		s.suspended(1, 130)
		s.restart(1, 140)
		s.restarted(1, 141)
		out, stats := s.play(t)
		clean(t, out, stats)
		if len(out.Stops) != 2 {
			t.Fatalf("got %d stops, want 2", len(out.Stops))
		}
		got := out.Stops[1]
		if got.Begin != s.at(100) || got.BackOffs != 2 || got.Start() != s.at(121) || got.Duration() != s.at(140).Sub(s.at(121)) {
			t.Errorf("got %+v, which starts at %d", got, got.Start())
		}
		if v := got.Interval(); v.Start != s.at(121) || v.End != s.at(140) {
			t.Errorf("got %+v, want only what came after the last back-off", v)
		}
	})
}

// TestUnmatchedStops counts what fits no stop, and makes no stop of it.
func TestUnmatchedStops(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.suspended(1, 100) // the stream began in its midst
		s.restart(1, 101)
		s.restarted(1, 102)
		s.suspend(2, 110, dotnetgc.ForGC)
		s.suspend(2, 120, dotnetgc.ForGC)
		s.suspended(2, 121)
		s.restart(2, 122)
		s.suspend(2, 130, dotnetgc.ForGC)
		s.suspended(2, 131)
		s.suspended(2, 132)
		s.restarted(2, 133)
		out, stats := s.play(t)
		if stats != (dotnetgc.Stats{Unmatched: 7}) {
			t.Errorf("got %+v", stats)
		}
		want := []dotnetgc.Stop{{
			Thread: 2, Reason: dotnetgc.ForGC, Begin: s.at(120), Suspended: s.at(121), RestartBegin: s.at(122),
			Incomplete: "GCRestartEEEnd was not seen",
		}}
		if diff := cmp.Diff(want, out.Stops); diff != "" {
			t.Errorf("stops (-want +got):\n%s", diff)
		}
		holes := []dotnetgc.Hole{
			{Span: stall.Span{Start: s.at(110), End: s.at(120)}, Why: "a stop ForGC: GCSuspendEEEnd was not seen"},
			{Span: stall.Span{Start: s.at(130), End: s.at(132)}, Why: "a stop ForGC: GCRestartEEBegin was not seen"},
		}
		if diff := cmp.Diff(holes, out.Incomplete); diff != "" {
			t.Errorf("holes (-want +got):\n%s", diff)
		}
	})
}

// TestManyStops gives up the oldest of more than can be.
func TestManyStops(t *testing.T) {
	s := newScript(machines["linux, 64 bit"])
	for thread := range uint64(70) {
		s.suspend(thread+1, 100+thread, dotnetgc.Other)
	}
	out, stats := s.play(t)
	if stats.Dropped != 6 || len(out.Incomplete) != 70 || len(out.Stops) != 0 {
		t.Errorf("got %+v, %d holes, %d stops", stats, len(out.Incomplete), len(out.Stops))
	}
}

// TestBackInTime leaves events that were before what they follow: the times of
// a broken stream make no pause and no collection.
func TestBackInTime(t *testing.T) {
	m := dotnetgc.NewModel(nettrace.Header{Frequency: 1e9, PointerSize: 8}, dotnetgc.Options{})
	add := func(at uint64, id, version int, payload []byte) {
		m.Add(&nettrace.Event{Provider: dotnetgc.Provider, ID: id, Version: version, Ticks: nettrace.Ticks(at), Thread: 7, Payload: payload})
	}
	add(1000, 9, 1, words(1, 0))
	add(900, 8, 1, nil)
	add(1010, 8, 1, nil)
	add(1020, 1, 2, words(1, 0, 0, 0))
	add(1005, 2, 1, words(1, 0))
	add(1009, 7, 1, nil)
	add(1030, 2, 1, words(1, 0))
	add(1040, 7, 1, nil)
	add(1039, 3, 1, nil)
	add(1050, 3, 1, nil)
	m.Close()
	out := m.Take()
	checkOutput(t, out)
	if m.Stats() != (dotnetgc.Stats{Malformed: 4}) || len(out.Collections) != 1 || len(out.Stops) != 1 {
		t.Fatalf("got %+v, %+v", m.Stats(), out)
	}
	if s := out.Stops[0]; s.Suspended != 1010 || s.RestartBegin != 1040 || s.RestartEnd != 1050 || out.Collections[0].End.Or(0) != 1030 {
		t.Errorf("got %+v, %+v", s, out.Collections[0])
	}
}
