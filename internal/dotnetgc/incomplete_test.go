package dotnetgc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func whys(out dotnetgc.Output) []string {
	var list []string
	for _, h := range out.Incomplete {
		list = append(list, h.Why)
	}
	return list
}

// TestAttach begins within a collection, at each of its events: nothing of it
// gets into the next one.
func TestAttach(t *testing.T) {
	all := newScript(nettracetest.Options{})
	all.collect(7, 1000, 5, 1, dotnetgc.NonConcurrentGC)
	all.collect(7, 2000, 6, 0, dotnetgc.NonConcurrentGC)
	for skip := 1; skip < 9; skip++ {
		s := newScript(nettracetest.Options{})
		s.events = all.events[skip:]
		out, stats := s.play(t)
		last := len(out.Collections) - 1
		c := out.Collections[last]
		if c.Index != 6 || c.Incomplete != "" || c.HeapBefore.Or(0) != 5*6000+100 || c.HeapAfter.Or(0) != 5*3000+10 || len(c.Pauses) != 1 {
			t.Errorf("from event %d on: got %+v", skip, c)
		}
		// Where GCStart was seen there is a record of the first one, without
		// its stop.
		if wantFirst := skip < 3; wantFirst != (last == 1) {
			t.Errorf("from event %d on: got %d collections", skip, last+1)
		} else if wantFirst && out.Collections[0].Incomplete != "not seen: its stop" && skip > 1 {
			t.Errorf("from event %d on: got %q", skip, out.Collections[0].Incomplete)
		}
		if stats.Orphans+stats.Unmatched == 0 {
			t.Errorf("from event %d on: got %+v, want something counted", skip, stats)
		}
		if ended := skip > 2 && skip <= 5; ended != (strings.Join(whys(out), ";") == "the start of collection 5 was not seen") {
			t.Errorf("from event %d on: got holes %q", skip, whys(out))
		}
	}
}

// TestHistoryOfNoHeap: a history of a heap that the collection does not have is of
// none.
func TestHistoryOfNoHeap(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.suspend(7, 1000, dotnetgc.ForGC)
		s.suspended(7, 1002)
		s.start(7, 1003, 5, 1, 0, dotnetgc.NonConcurrentGC)
		s.global(7, 1010, 1, 1, blocking)
		s.heap(7, 1011, 0, 100)
		s.heap(7, 1012, 1, 300)
		s.end(7, 1013, 5, 1)
		s.stats(7, 1014, 500)
		s.restart(7, 1015)
		s.restarted(7, 1020)
		out, stats := s.play(t)
		if len(out.Collections) != 1 || stats.Orphans != 1 {
			t.Fatalf("got %d collections and %+v, want one, and an orphan", len(out.Collections), stats)
		}
		if c := out.Collections[0]; c.Incomplete != "" || c.HeapBefore.Or(0) != 5*100+100 {
			t.Errorf("got %v bytes before, incomplete %q, want %d", c.HeapBefore, c.Incomplete, 5*100+100)
		}
	})
}

// TestAttachToBackground begins while a background collection runs, of which
// the last stop and the histories are seen.
func TestAttachToBackground(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.stop(9, 1200, 1210, dotnetgc.ForGCPrep)
		s.collect(7, 1300, 6, 0, dotnetgc.ForegroundGC)
		s.global(9, 1400, 1, 2, concurrent)
		s.heap(9, 1401, 0, 300)
		s.end(9, 1402, 5, 2)
		s.stats(9, 1403, 200)
		s.collect(7, 1500, 7, 0, dotnetgc.NonConcurrentGC)
		out, stats := s.play(t)
		if stats != (dotnetgc.Stats{Orphans: 4}) {
			t.Errorf("got %+v", stats)
		}
		if len(out.Collections) != 2 || out.Collections[0].Incomplete+out.Collections[1].Incomplete != "" || len(out.Stops) != 3 {
			t.Errorf("got %+v", out)
		}
	})
}

// TestMissingNumbers says which collections were not seen.
func TestMissingNumbers(t *testing.T) {
	s := newScript(nettracetest.Options{})
	s.collect(7, 1000, 5, 1, dotnetgc.NonConcurrentGC)
	s.collect(7, 2000, 9, 1, dotnetgc.NonConcurrentGC)
	out, _ := s.play(t)
	want := []dotnetgc.Hole{{Span: stall.Span{Start: 1015, End: 2003}, Why: "collections 6 to 8 were not seen"}}
	if diff := cmp.Diff(want, out.Incomplete); diff != "" {
		t.Errorf("holes (-want +got):\n%s", diff)
	}
	if a := out.Collections[1].Allocated; !a.IsZero() {
		t.Errorf("allocated since a collection that was not seen: %v", a)
	}
}

// TestEndOfStream ends within a collection.
func TestEndOfStream(t *testing.T) {
	all := newScript(nettracetest.Options{})
	all.collect(7, 1000, 1, 0, dotnetgc.NonConcurrentGC)
	all.collect(7, 2000, 2, 2, dotnetgc.NonConcurrentGC)
	for n, want := range map[int][]string{
		9:  nil,
		10: {"a stop ForGC: GCSuspendEEEnd was not seen"},
		12: {"a stop ForGC: GCRestartEEBegin was not seen", "collection 2 had not ended"},
		17: nil,
	} {
		s := newScript(nettracetest.Options{})
		s.events = all.events[:n]
		out, _ := s.play(t)
		if diff := cmp.Diff(want, whys(out)); diff != "" {
			t.Errorf("%d events (-want +got):\n%s", n, diff)
		}
		if n == 17 && (len(out.Collections) != 2 || out.Collections[1].Incomplete != "not seen: the end of a stop") {
			t.Errorf("%d events: got %+v", n, out.Collections)
		}
	}
}

// TestEndWithinBackground ends while a background collection runs: the pause at
// its beginning was seen whole, and what ran beside it keeps its own.
func TestEndWithinBackground(t *testing.T) {
	onAll(t, func(t *testing.T, s *script) {
		s.collect(7, 1000, 1, 0, dotnetgc.NonConcurrentGC)
		s.suspend(7, 2000, dotnetgc.ForGC)
		s.suspended(7, 2002)
		s.start(7, 2003, 2, 2, 0, dotnetgc.BackgroundGC)
		s.restart(7, 9000)
		s.restarted(7, 9001)
		s.collect(7, 10000, 3, 0, dotnetgc.ForegroundGC)
		out, _ := s.play(t)
		got := make(map[uint64][]stall.Span)
		for _, c := range out.Collections {
			for _, p := range c.Pauses {
				got[c.Index] = append(got[c.Index], stall.Span{Start: p.Start, End: p.End})
			}
		}
		span := func(a, b uint64) []stall.Span { return []stall.Span{{Start: s.at(a), End: s.at(b)}} }
		want := map[uint64][]stall.Span{1: span(1000, 1015), 2: span(2000, 9000), 3: span(10000, 10015)}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pauses (-want +got):\n%s", diff)
		}
		if c := out.Collections[len(out.Collections)-1]; c.Index != 2 || c.Kind != gc.Background || !strings.HasPrefix(c.Incomplete, "not seen: GCEnd") {
			t.Errorf("got %+v, want an incomplete background collection", c)
		}
		if diff := cmp.Diff([]string{"the end of collection 2 was not seen"}, whys(out)); diff != "" {
			t.Errorf("holes (-want +got):\n%s", diff)
		}
	})
}

// TestIdle hands out a collection whose histories do not come, and not one that
// still runs.
func TestIdle(t *testing.T) {
	s := newScript(nettracetest.Options{})
	s.collect(7, 1000, 1, 2, dotnetgc.NonConcurrentGC)
	s.suspend(7, 1100, dotnetgc.ForGC)
	s.suspended(7, 1101)
	s.start(7, 1102, 2, 2, 0, dotnetgc.BackgroundGC)
	events := append(s.events[:3:3], s.events[5:]...) // without both histories of the first
	m := dotnetgc.NewModel(nettrace.Header{Frequency: 1e9, PointerSize: 8}, dotnetgc.Options{})
	for i, e := range events {
		if i == 7 {
			if out := m.Take(); len(out.Collections) != 0 {
				t.Fatalf("got %+v before anything was said to be idle", out)
			}
			m.Idle()
			out := m.Take()
			if len(out.Collections) != 1 || !strings.HasPrefix(out.Collections[0].Incomplete, "not seen: GCGlobalHeapHistory") {
				t.Fatalf("got %+v", out)
			}
		}
		m.Add(&nettrace.Event{
			Provider: e.Provider, ID: e.ID, Version: e.Version, Ticks: nettrace.Ticks(e.Ticks), Thread: e.Thread, Payload: e.Payload,
		})
	}
	m.Idle()
	if out := m.Take(); len(out.Collections) != 0 {
		t.Errorf("got %+v, want nothing of what still runs", out)
	}
	if at, pending := m.Pending(); !pending || at != 1100 {
		t.Errorf("pending: got %v, %v, want 1100", at, pending)
	}
}
