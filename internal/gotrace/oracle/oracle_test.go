package oracle

import (
	"maps"
	"math"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/stall"
)

func TestGoTestdata(t *testing.T) {
	for _, c := range gotracetest.GoTestdata(t) {
		t.Run(c.Name, func(t *testing.T) {
			want, err := watch(t, c.Bytes, gotracetest.MarkPrefix)
			if (err == nil) != c.Good {
				t.Fatalf("the oracle says %v of a trace that is good: %v; the assembler is wrong", err, c.Good)
			}
			if !c.Good {
				_, _ = decode(t, c.Bytes, gotracetest.MarkPrefix, func(func(uint64) bool) {})
				return // an error or a value: not a panic is all that is asked
			}
			got, gotErr := decode(t, c.Bytes, gotracetest.MarkPrefix, maps.Keys(want.spans))
			if gotErr != nil {
				t.Fatal(gotErr)
			}
			compare(t, want, got)
		})
	}
}

func TestCaptures(t *testing.T) {
	for _, c := range gotracetest.Captures(t, "../testdata") {
		t.Run(c.Name, func(t *testing.T) { compareBytes(t, c.Bytes) })
	}
}

func TestRecorded(t *testing.T) {
	// Long enough for more than one generation, so that states, assists and
	// workers cross the boundary.
	compareBytes(t, gotracetest.Record(t, 2500*time.Millisecond))
}

func compareBytes(t *testing.T, data []byte) {
	t.Helper()
	want, got := compareTraces(t, data)
	if len(want.stops) == 0 || len(want.cycles) == 0 || len(want.assists) == 0 || len(want.sweeps) == 0 || len(want.marks) == 0 {
		t.Fatal("the trace holds too little to compare")
	}
	if len(got.tracks) == 0 {
		t.Error("no goroutine was followed")
	}
}

// compareTraces compares what both say of the same bytes, and of the states of
// every goroutine.
func compareTraces(t *testing.T, data []byte) (want *seen, got *decoded) {
	t.Helper()
	want, err := watch(t, data, gotracetest.MarkPrefix)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = decode(t, data, gotracetest.MarkPrefix, maps.Keys(want.spans)); err != nil {
		t.Fatal(err)
	}
	compare(t, want, got)
	t.Logf("%d generations, %d stops, %d cycles, %d assists, %d sweeps, %d marks, %d tasks, %d tracks, %d workers, lost %+v",
		len(got.spans), len(got.stops), len(got.cycles), len(got.assists), len(got.sweeps), len(got.marks), len(got.tasks), len(got.tracks), got.workers, got.lost)
	return want, got
}

func compare(t *testing.T, want *seen, got *decoded) {
	t.Helper()
	clock := offsets{generations: want.generations}
	if n := len(got.spans); n > 0 {
		clock.end = int64(got.spans[n-1].End)
	}
	clock.findMoved(got.spans)
	compareSpans(t, "stop", want.stops, got.stops, clock)
	compareSpans(t, "cycle", want.cycles, got.cycles, clock)
	compareRanges(t, "assist", want.assists, got.assists, clock)
	compareRanges(t, "sweep", want.sweeps, got.sweeps, clock)
	compareMarks(t, want.marks, got.marks, clock)
	compareTasks(t, want.tasks, got.tasks, clock)
	if want.heap != got.heap {
		t.Errorf("got %d samples of the heap, want %d", got.heap, want.heap)
	}
	for g, list := range got.tracks {
		compareTrack(t, g, want.control(g, 0, math.MaxInt64, 4), list, clock)
	}
}

func compareSpans(t *testing.T, what string, want, got []span, clock offsets) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("got %d %ss, want %d", len(got), what, len(want))
		return
	}
	for i := range want {
		w, g := want[i], got[i]
		if w.g != g.g || w.reason != g.reason || w.caller != g.caller || !clock.same(w, g) || !clock.sameRestart(w, g) {
			t.Errorf("%s %d: got %+v, want %+v", what, i, g, w)
		}
	}
}

// compareRanges compares without order across goroutines: equal starts are
// sorted differently where the oracle has moved one.
func compareRanges(t *testing.T, what string, want, got []span, clock offsets) {
	t.Helper()
	byG := map[uint64][]span{}
	for _, g := range got {
		byG[g.g] = append(byG[g.g], g)
	}
	n, absent := 0, 0
	for _, w := range want {
		list := byG[w.g]
		if len(list) == 0 {
			if clock.emptyAtEnd(w) {
				absent++
				continue
			}
			t.Errorf("%s %+v is missing", what, w)
			continue
		}
		g := list[0]
		byG[w.g] = list[1:]
		if !clock.same(w, g) {
			if n++; n < 10 {
				t.Errorf("%s: got %+v, want %+v", what, g, w)
			}
		}
	}
	if len(want)-absent != len(got) {
		t.Errorf("got %d %ss, want %d", len(got), what, len(want)-absent)
	}
}

func compareMarks(t *testing.T, want, got []mark, clock offsets) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("got %d marks, want %d", len(got), len(want))
		return
	}
	byG := map[uint64][]mark{}
	for _, g := range got {
		byG[g.g] = append(byG[g.g], g)
	}
	for _, w := range want {
		if len(byG[w.g]) == 0 {
			t.Errorf("mark %+v is missing", w)
			continue
		}
		g := byG[w.g][0]
		byG[w.g] = byG[w.g][1:]
		if w.key != g.key || !clock.near(w.at, g.at) {
			t.Errorf("mark: got %+v, want %+v", g, w)
		}
	}
}

var stateOf = map[trace.GoState]stall.State{
	trace.GoRunnable: stall.StateRunnable,
	trace.GoRunning:  stall.StateRunning,
	trace.GoSyscall:  stall.StateParked,
	trace.GoWaiting:  stall.StateParked,
	trace.GoNotExist: stall.StateUnknown,
}

// compareTrack looks for each of gotrace's spans among the oracle's: within
// what the oracle may have moved, it must know the same state and reason. The
// middle of a span longer than that must agree exactly.
func compareTrack(t *testing.T, g uint64, want []stateSpan, got []gotrace.TrackSpan, clock offsets) {
	t.Helper()
	bad, first := 0, 0
	for _, s := range got {
		from, to := int64(s.Start)-tolerance, int64(s.End)+tolerance
		if s.End.Sub(s.Start) > 2*time.Duration(tolerance) {
			from = (int64(s.Start) + int64(s.End)) / 2
			to = from
		}
		if clock.isMoved(from) || clock.isMoved(to) {
			continue
		}
		for first < len(want) && clock.instant(want[first].end) < from {
			first++
		}
		found := false
		for i := first; i < len(want) && clock.instant(want[i].start) <= to && !found; i++ {
			found = stateOf[want[i].state] == s.State && (s.State != stall.StateParked || s.Reason == reasonOf(want[i]))
		}
		if !found {
			if bad++; bad < 5 {
				t.Errorf("goroutine %d: got %+v, the oracle has no such span there", g, s)
			}
		}
	}
}

func reasonOf(s stateSpan) string {
	if s.state == trace.GoSyscall {
		return "syscall"
	}
	return s.reason
}
