package dotnetgc_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestVersions reads what older runtimes fire: no pinned object heap, four
// generations per heap, and events of version 0.
func TestVersions(t *testing.T) {
	for version, generations := range []int{4, 4, 5} {
		s := newScript(nettracetest.Options{PointerSize: 4})
		s.event(1000, 7, 9, 0, []byte{1, 0}) // GCSuspendEEBegin_V0
		s.suspended(7, 1002)
		s.event(1003, 7, 1, 0, words(3, 1)) // GCStart_V0
		s.global(7, 1010, 1, 2, blocking)
		s.heapOf(7, 1011, 0, 100, generations)
		s.event(1012, 7, 2, 0, append(words(3), 2, 0)) // GCEnd_V0
		s.statsOf(7, 1013, 50, version)
		s.restart(7, 1015)
		s.restarted(7, 1016)
		out, stats := s.play(t)
		clean(t, out, stats)
		c := out.Collections[0]
		if c.Kind != gc.FullBlocking || c.Trigger != "Induced" || c.Incomplete != "" || len(c.Generations) != generations {
			t.Errorf("V%d: got %+v", version, c)
		}
		n := gc.Bytes(generations)
		if got, want := c.HeapAfter.Or(0), 50*n+n*(n-1)/2; got != want {
			t.Errorf("V%d: heap after %d, want %d", version, got, want)
		}
	}
}

// TestMalformed leaves events that are too short for their version, or say what
// cannot be, and counts them.
func TestMalformed(t *testing.T) {
	for _, o := range machines {
		whole := newScript(o)
		whole.collect(7, 1000, 1, 1, dotnetgc.NonConcurrentGC)
		for _, e := range whole.events {
			s := newScript(o)
			cut := 0
			for n := range e.Payload {
				s.event(uint64(n), 7, e.ID, e.Version, e.Payload[:n])
			}
			out, stats := s.play(t)
			cut = int(stats.Malformed)
			fixed := map[int]int{1: 16, 2: 8, 9: 4, 4: 110, 205: 38, 204: len(e.Payload)}[e.ID]
			if cut != fixed {
				t.Errorf("event %d: %d cuts malformed, want %d", e.ID, cut, fixed)
			}
			if len(out.Collections) != 0 && e.ID != 1 {
				t.Errorf("event %d: got %+v", e.ID, out.Collections)
			}
		}
		s := newScript(o)
		s.global(7, 1, 0, 0, blocking)
		s.global(7, 2, 1025, 0, blocking)
		s.heap(7, 3, 1024, 0)
		s.heapOf(7, 4, 0, 0, 3)
		if _, stats := s.play(t); stats.Malformed != 4 {
			t.Errorf("impossible values: got %+v", stats)
		}
	}
}

// TestNames keeps small numbers that nobody knows.
func TestNames(t *testing.T) {
	got := []string{
		dotnetgc.Reason(0).String(), dotnetgc.Reason(17).String(), dotnetgc.Reason(18).String(),
		dotnetgc.ForegroundGC.String(), dotnetgc.Type(3).String(),
		dotnetgc.ForGCPrep.String(), dotnetgc.SuspendReason(7).String(), dotnetgc.SuspendReason(8).String(),
		dotnetgc.PauseMode(1).String(), dotnetgc.PauseMode(4).String(), dotnetgc.PauseMode(5).String(),
	}
	want := []string{
		"AllocSmall", "InducedAggressive", "Reason(18)", "ForegroundGC", "Type(3)",
		"ForGCPrep", "ForDebuggerSweep", "SuspendReason(8)",
		"Interactive", "NoGCRegion", "PauseMode(5)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// TestNamesAreFew: the names are values of attributes of metrics, so a stream of
// nonsense makes no more of them than a runtime to come may have.
func TestNamesAreFew(t *testing.T) {
	for kind, name := range map[string]func(n uint32) string{
		"Reason":        func(n uint32) string { return dotnetgc.Reason(n).String() },
		"Type":          func(n uint32) string { return dotnetgc.Type(n).String() },
		"SuspendReason": func(n uint32) string { return dotnetgc.SuspendReason(n).String() },
		"PauseMode":     func(n uint32) string { return dotnetgc.PauseMode(n).String() },
	} {
		seen := make(map[string]bool)
		for n := range uint32(1000) {
			seen[name(n)], seen[name(n<<16)], seen[name(^n)] = true, true, true
		}
		if len(seen) > 65 || !seen[kind+"(other)"] || !seen[kind+"(63)"] || name(^uint32(0)) != kind+"(other)" {
			t.Errorf("%s: %d names: %v", kind, len(seen), seen)
		}
	}
}

// TestWant agrees with the ids, and leaves what others fire.
func TestWant(t *testing.T) {
	wanted := 0
	for id := range 1000 {
		if dotnetgc.Want(dotnetgc.Provider, id, 1) {
			wanted++
		}
		if dotnetgc.Want("App", id, 1) {
			t.Errorf("event %d of another provider is wanted", id)
		}
	}
	for _, id := range dotnetgc.EventIDs() {
		if !dotnetgc.Want(dotnetgc.Provider, int(id), 1) {
			t.Errorf("event %d is not wanted", id)
		}
	}
	if wanted != len(dotnetgc.EventIDs()) {
		t.Errorf("%d events are wanted, %d have ids", wanted, len(dotnetgc.EventIDs()))
	}
	m := dotnetgc.NewModel(nettrace.Header{Frequency: 1e9, PointerSize: 8}, dotnetgc.Options{})
	m.Add(&nettrace.Event{Provider: "App", ID: 1, Version: 1})
	if m.Stats() != (dotnetgc.Stats{}) {
		t.Errorf("an event of another provider counts: %+v", m.Stats())
	}
}
