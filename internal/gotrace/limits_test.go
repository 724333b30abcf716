package gotrace_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/stall"
)

// TestLimits meets each limit: what is over it is counted, or an error.
func TestLimits(t *testing.T) {
	data := capture(t)
	for _, c := range []struct {
		name   string
		limits gotrace.Limits
		lost   func(*gotrace.Lost) uint64 // nil: an error is wanted
	}{
		{"generation bytes", gotrace.Limits{GenerationBytes: 1000}, nil},
		{"threads", gotrace.Limits{Threads: 1}, nil},
		{"tables", gotrace.Limits{TableBytes: 10}, func(l *gotrace.Lost) uint64 { return min(l.Strings, l.Stacks) }},
		{"strings", gotrace.Limits{Strings: 5}, func(l *gotrace.Lost) uint64 { return l.Strings }},
		{"stacks", gotrace.Limits{Stacks: 5}, func(l *gotrace.Lost) uint64 { return l.Stacks }},
		{"records", gotrace.Limits{Records: 2}, func(l *gotrace.Lost) uint64 { return min(l.Stops, l.Cycles, l.Ranges, l.Workers, l.Marks, l.Samples) }},
		{"followed", gotrace.Limits{Followed: 1}, func(l *gotrace.Lost) uint64 { return l.Followed }},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := all(t, data, gotrace.Options{Limits: c.limits, MarkPrefix: gotracetest.MarkPrefix}, func(_ *gotrace.Reader, g *gotrace.Generation) {
				if c.lost == nil || c.lost(&g.Lost) == 0 || !g.Truncated {
					t.Errorf("lost %+v, truncated %v, want it counted", g.Lost, g.Truncated)
				}
			})
			if c.lost == nil && !errors.Is(err, gotrace.ErrLimit) || c.lost != nil && err != nil {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestNothingIsFollowedWithoutTracks: where no tracks are wanted, there are marks
// all the same, and that more goroutines made some than may be followed is no loss.
func TestNothingIsFollowedWithoutTracks(t *testing.T) {
	o := gotrace.Options{Limits: gotrace.Limits{Followed: 1}, MarkPrefix: gotracetest.MarkPrefix, NoTracks: true}
	err := all(t, capture(t), o, func(_ *gotrace.Reader, g *gotrace.Generation) {
		who := map[uint64]bool{}
		for _, m := range g.Marks {
			who[m.Goroutine] = true
		}
		if len(who) < 2 || g.Truncated || g.Lost.Any() {
			t.Errorf("marks of %d goroutines, lost %+v, truncated %v, want some, and nothing lost", len(who), g.Lost, g.Truncated)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// capture returns the trace of a real program.
func capture(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("testdata/go1.26.8.trace")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestSteadyState decodes one stream after the other with the memory of the
// first: nothing is allocated for an event.
func TestSteadyState(t *testing.T) {
	data := capture(t)
	stream := bytes.NewReader(data)
	r, err := gotrace.NewReader(stream, gotrace.Options{MarkPrefix: gotracetest.MarkPrefix})
	if err != nil {
		t.Fatal(err)
	}
	read := func() {
		for {
			if _, err := r.Next(); err == io.EOF {
				return
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	read()
	allocs := testing.AllocsPerRun(10, func() {
		stream.Reset(data)
		if err := r.Reset(stream); err != nil {
			t.Fatal(err)
		}
		read()
	})
	// The table of events is made anew for each stream.
	if allocs > 2 {
		t.Errorf("got %v allocations per stream, want at most 2", allocs)
	}
}

// TestReset decodes a stream after another has broken off: nothing is left.
func TestReset(t *testing.T) {
	data := capture(t)
	want := summary(t, data)
	r, err := gotrace.NewReader(bytes.NewReader(data[:len(data)/2]), gotrace.Options{MarkPrefix: gotracetest.MarkPrefix})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatalf("got %v, want a truncation", err)
	}
	if err := r.Reset(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	g, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	if got := (counts{len(g.Stops), len(g.Cycles), len(g.Ranges), len(g.Tracks), g.Start}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

type counts struct {
	stops, cycles, ranges, tracks int
	start                         stall.Instant
}

func summary(t *testing.T, data []byte) (c counts) {
	t.Helper()
	err := all(t, data, gotrace.Options{MarkPrefix: gotracetest.MarkPrefix}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		c = counts{len(g.Stops), len(g.Cycles), len(g.Ranges), len(g.Tracks), g.Start}
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}
