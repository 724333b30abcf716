package gotrace_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
)

func TestGoTestdata(t *testing.T) {
	for _, c := range gotracetest.GoTestdata(t) {
		t.Run(c.Name, func(t *testing.T) {
			err := all(t, c.Bytes, gotrace.Options{MarkPrefix: gotracetest.MarkPrefix}, func(_ *gotrace.Reader, g *gotrace.Generation) {
				t.Logf("generation %d: %d events, lost %+v", g.Number, g.Events, g.Lost)
			})
			if c.Good && err != nil {
				t.Errorf("got %v, want no error", err)
			}
			var place *gotrace.Error
			if err != nil && !errors.As(err, &place) {
				t.Errorf("got %v, want an error with its place", err)
			}
		})
	}
}

func TestCaptures(t *testing.T) {
	for _, c := range gotracetest.Captures(t, "testdata") {
		t.Run(c.Name, func(t *testing.T) {
			reasons := map[string]int{}
			var forced, cycles, marks, tracks, ranges, workers int
			err := all(t, c.Bytes, gotrace.Options{MarkPrefix: gotracetest.MarkPrefix}, func(_ *gotrace.Reader, g *gotrace.Generation) {
				if want := strings.Contains(c.Name, "1.25") || strings.Contains(c.Name, "1.26"); g.Shared != want {
					t.Errorf("shared clock %v, want %v", g.Shared, want)
				}
				if g.Truncated {
					t.Errorf("lost %+v, want nothing lost", g.Lost)
				}
				for _, s := range g.Stops {
					reasons[s.Reason+" by "+s.Caller+" through "+s.Entry]++
				}
				for _, cy := range g.Cycles {
					if cy.Trigger == "forced" && cy.TriggerSite == "main.main" {
						forced++
					}
				}
				cycles += len(g.Cycles)
				marks += len(g.Marks)
				tracks += len(g.Tracks)
				ranges += len(g.Ranges)
				workers += len(g.Workers)
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Log(reasons)
			if reasons["read mem stats by main.readStats through runtime.ReadMemStats"] != 2 {
				t.Errorf("got stops %v, want 2 by main.readStats", reasons)
			}
			if forced != 2 || cycles < 3 || marks != 20 || tracks != 4 || ranges == 0 || workers == 0 {
				t.Errorf("forced %d, cycles %d, marks %d, tracks %d, ranges %d, workers %d, want 2, >2, 20, 4, >0, >0",
					forced, cycles, marks, tracks, ranges, workers)
			}
		})
	}
}

// TestPrefixes cuts a trace at every byte: what is there of whole generations
// is there, and the rest is a truncation.
func TestPrefixes(t *testing.T) {
	for _, c := range gotracetest.Captures(t, "testdata") {
		t.Run(c.Name, func(t *testing.T) {
			whole := 0
			if err := all(t, c.Bytes, gotrace.Options{}, func(*gotrace.Reader, *gotrace.Generation) { whole++ }); err != nil {
				t.Fatal(err)
			}
			step := max(1, len(c.Bytes)/200)
			for n := 0; n < len(c.Bytes); n += step {
				got := 0
				err := all(t, c.Bytes[:n], gotrace.Options{}, func(*gotrace.Reader, *gotrace.Generation) { got++ })
				if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || err == nil && got > whole {
					t.Fatalf("cut at %d: %d generations of %d and error %v, want a truncation", n, got, whole, err)
				}
			}
		})
	}
}
