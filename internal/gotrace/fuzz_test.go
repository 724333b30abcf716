package gotrace_test

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

// fuzzLimits are small, so that the fuzzer meets them.
var fuzzLimits = gotrace.Limits{
	GenerationBytes: 1 << 20, TableBytes: 1 << 16, Strings: 1 << 10, Stacks: 1 << 10,
	Threads: 16, Transitions: 1 << 15, Records: 1 << 10, Followed: 4, Names: 64,
}

// FuzzReader holds the decoder to its contract: a generation or an error,
// never both, never neither; an error has its place within the stream, is
// repeated, and ends it; nothing reported is over a limit or out of order.
func FuzzReader(f *testing.F) {
	for _, c := range gotracetest.GoTestdata(f) {
		f.Add(c.Bytes)
	}
	for _, c := range append(gotracetest.Captures(f, "testdata"), gotracetest.Captures(f, "testdata/tasks")...) {
		f.Add(c.Bytes)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{Limits: fuzzLimits, MarkPrefix: "o", Tasks: true})
		if (r == nil) == (err == nil) {
			t.Fatalf("got reader %v and error %v, want one of them", r, err)
		}
		if err != nil {
			checkError(t, err, len(data))
			return
		}
		for n := 0; ; n++ {
			g, err := r.Next()
			if (g == nil) == (err == nil) {
				t.Fatalf("got generation %v and error %v, want one of them", g, err)
			}
			if err != nil {
				checkError(t, err, len(data))
				if _, again := r.Next(); again != err {
					t.Fatalf("got %v after %v, want it again", again, err)
				}
				return
			}
			checkGeneration(t, g)
			if n%2 == 1 && len(g.Tracks) > 0 {
				r.Unfollow(g.Tracks[0].Goroutine)
			}
		}
	})
}

func checkError(t *testing.T, err error, size int) {
	t.Helper()
	if err == io.EOF || errors.Is(err, gotrace.ErrVersion) {
		return
	}
	var place *gotrace.Error
	if !errors.As(err, &place) {
		t.Fatalf("got %v, want an error with its place", err)
	}
	if place.Offset < 0 || place.Offset > int64(size) {
		t.Fatalf("error at %d of %d bytes: %v", place.Offset, size, err)
	}
	known := errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gotrace.ErrFormat) || errors.Is(err, gotrace.ErrLimit)
	if !known {
		t.Fatalf("got %v, want a truncation, a broken trace or a limit", err)
	}
}

func checkGeneration(t *testing.T, g *gotrace.Generation) {
	t.Helper()
	if g.End < g.Start || g.Number == 0 || g.Truncated != g.Lost.Any() {
		t.Fatalf("generation %+v is not coherent", g)
	}
	limit := fuzzLimits.Records
	// Assists and sweeps are two kinds, and each can be cut once more.
	if len(g.Stops) > limit || len(g.Cycles) > limit+1 || len(g.Marks) > limit || len(g.Tasks) > limit || len(g.Heap) > limit ||
		len(g.Goals) > limit || len(g.Turns) > limit || len(g.Ranges) > 4*limit || len(g.Tracks) > fuzzLimits.Followed {
		t.Fatalf("generation is over a limit: %d stops, %d cycles, %d marks, %d tasks, %d samples, %d ranges, %d tracks",
			len(g.Stops), len(g.Cycles), len(g.Marks), len(g.Tasks), len(g.Heap), len(g.Ranges), len(g.Tracks))
	}
	checkOrder(t, g)
	for _, k := range g.Tasks {
		if k.End && (k.Parent != 0 || k.Name != "") || len(k.Name) > gotrace.MaxStringBytes {
			t.Fatalf("task %+v is not coherent", k)
		}
	}
	for _, s := range g.Stops {
		if s.End < s.Start || s.Restart != 0 && (s.Restart < s.Start || s.Restart >= s.End) || len(s.Stack) > gotrace.MaxFrames {
			t.Fatalf("stop %+v is not coherent", s)
		}
	}
	for _, r := range g.Ranges {
		if r.End < r.Start {
			t.Fatalf("range %+v ends before it starts", r)
		}
	}
	for _, w := range g.Workers {
		if w.End < w.Start || w.Kind == gotrace.NoWorker {
			t.Fatalf("worker %+v is not coherent", w)
		}
	}
	for _, c := range g.Cycles {
		if !c.Partial && c.End < max(c.Begin, c.Active) {
			t.Fatalf("collection %+v ends before it begins", c)
		}
	}
	for _, tr := range g.Tracks {
		at := g.Start
		for s := range tr.Spans {
			if s.Start < at || s.End <= s.Start || s.End > g.End {
				t.Fatalf("goroutine %d: span %+v overlaps or is outside of %+v", tr.Goroutine, s, g.Span)
			}
			at = s.End
		}
	}
}

func checkOrder(t *testing.T, g *gotrace.Generation) {
	t.Helper()
	byAt := func(a, b gotrace.Sample) int { return cmp.Compare(a.At, b.At) }
	inOrder := slices.IsSortedFunc(g.Stops, func(a, b gotrace.Stop) int { return cmp.Compare(a.Start, b.Start) }) &&
		slices.IsSortedFunc(g.Workers, func(a, b gotrace.Worker) int { return cmp.Compare(a.Start, b.Start) }) &&
		slices.IsSortedFunc(g.Ranges, func(a, b gotrace.Range) int { return cmp.Compare(a.Start, b.Start) }) &&
		slices.IsSortedFunc(g.Marks, func(a, b gotrace.Mark) int { return cmp.Compare(a.At, b.At) }) &&
		slices.IsSortedFunc(g.Tasks, func(a, b gotrace.Task) int { return cmp.Compare(a.At, b.At) }) &&
		slices.IsSortedFunc(g.Tracks, func(a, b gotrace.Track) int { return cmp.Compare(a.Goroutine, b.Goroutine) }) &&
		slices.IsSortedFunc(g.Turns, func(a, b gotrace.Turn) int {
			return cmp.Or(cmp.Compare(a.Coroutine, b.Coroutine), cmp.Compare(a.Start, b.Start))
		}) && slices.IsSortedFunc(g.Heap, byAt) && slices.IsSortedFunc(g.Goals, byAt)
	if !inOrder {
		t.Fatalf("generation %+v is out of order", g)
	}
}
