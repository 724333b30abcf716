package gotrace_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// all decodes a whole stream and calls each on every generation.
func all(t testing.TB, data []byte, o gotrace.Options, each func(*gotrace.Reader, *gotrace.Generation)) error {
	t.Helper()
	r, err := gotrace.NewReader(bytes.NewReader(data), o)
	if err != nil {
		return err
	}
	for {
		g, err := r.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		each(r, g)
	}
}

func TestRecorded(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	before := clock.Now()
	data := gotracetest.Record(t, 50*time.Millisecond)
	after := clock.Now()

	var forced, marks, tracks, assists, workers, running, parked int
	reasons := map[string]int{}
	callers := map[string]int{}
	err = all(t, data, gotrace.Options{MarkPrefix: gotracetest.MarkPrefix}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		t.Logf("generation %d: %d events, %d bytes, %d stops, %d cycles, %d ranges, %d workers, %d marks, %d tracks, %d samples, lost %+v",
			g.Number, g.Events, g.Bytes, len(g.Stops), len(g.Cycles), len(g.Ranges), len(g.Workers), len(g.Marks), len(g.Tracks), len(g.Heap), g.Lost)
		if g.Truncated {
			t.Errorf("lost %+v, want nothing lost", g.Lost)
		}
		if g.Shared && clock.Shared() && (g.Start < before || g.End > after) {
			t.Errorf("generation spans %d to %d, want within %d to %d", g.Start, g.End, before, after)
		}
		for _, s := range g.Stops {
			reasons[s.Reason]++
			callers[s.Reason+" by "+s.Caller]++
			if s.GC != (s.Phase != gc.PhaseUnknown) {
				t.Errorf("stop %q: GC %v and phase %v", s.Reason, s.GC, s.Phase)
			}
		}
		for _, c := range g.Cycles {
			if c.Trigger == gc.TriggerForced {
				forced++
			}
			checkCycle(t, c)
		}
		for _, r := range g.Ranges {
			if r.Kind == gotrace.Assist {
				assists++
			}
		}
		workers += len(g.Workers)
		marks += len(g.Marks)
		tracks += len(g.Tracks)
		for _, tr := range g.Tracks {
			for s := range tr.Spans {
				switch s.State {
				case stall.StateRunning:
					running++
				case stall.StateParked:
					parked++
				}
			}
			checkTrack(t, g, tr)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(reasons, callers)
	if forced < 3 || reasons["read mem stats"] < 3 || reasons["GC mark termination"] < 3 || reasons["GC sweep termination"] < 3 {
		t.Errorf("forced %d, stops %v, want at least 3 of each", forced, reasons)
	}
	if want := "github.com/otelgc/otelgc/internal/gotrace/gotracetest.Record"; callers["read mem stats by "+want] < 3 {
		t.Errorf("callers %v, want %s for read mem stats", callers, want)
	}
	if marks != 82 {
		t.Errorf("got %d marks, want 82", marks)
	}
	if tracks < 9 || running == 0 || parked == 0 || workers == 0 {
		t.Errorf("tracks %d, running %d, parked %d, workers %d, want at least 9, some, some, some", tracks, running, parked, workers)
	}
	t.Log("assists", assists)
}

func checkCycle(t *testing.T, c gotrace.Cycle) {
	t.Helper()
	if c.BeginUnknown || c.Partial {
		return
	}
	before, ok1 := c.HeapBefore.Get()
	after, ok2 := c.HeapAfter.Get()
	if c.End <= c.Begin || !ok2 || after == 0 || ok1 && before == 0 {
		t.Errorf("cycle %+v: want end after begin and heap sizes", c)
	}
}

func checkTrack(t *testing.T, g *gotrace.Generation, tr gotrace.Track) {
	t.Helper()
	at := g.Start
	for s := range tr.Spans {
		if s.Start < at || s.End <= s.Start || s.End > g.End {
			t.Errorf("goroutine %d: span %+v overlaps or is outside of %+v", tr.Goroutine, s, g.Span)
		}
		at = s.End
	}
}

func TestHeader(t *testing.T) {
	for _, c := range []struct {
		name, data string
		want       error
	}{
		{"empty", "", io.ErrUnexpectedEOF},
		{"short", "go 1.26 tr", io.ErrUnexpectedEOF},
		{"foreign", "PK\x03\x04 this is not a trace", gotrace.ErrFormat},
		{"later", "go 1.27 trace\x00\x00\x00", gotrace.ErrVersion},
		{"far later", "go 1.100 trace\x00\x00\x00", gotrace.ErrVersion},
		{"old", "go 1.21 trace\x00\x00\x00", gotrace.ErrVersion},
		{"no number", "go 1. trace\x00\x00\x00", gotrace.ErrFormat},
		{"endless number", "go 1.26262626262626262626 trace\x00\x00\x00", gotrace.ErrFormat},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := gotrace.NewReader(bytes.NewReader([]byte(c.data)), gotrace.Options{})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}
