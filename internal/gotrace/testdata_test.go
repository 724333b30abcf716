package gotrace_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
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
				if !g.Shared {
					t.Errorf("generation %d: the clock is not shared, want that it is by its frequency", g.Number)
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

// TestEveryCut cuts a small trace at each of its bytes, and flips each bit of
// them: a value or an error with its place, and never a panic.
func TestEveryCut(t *testing.T) {
	data := assemble(t, twoGenerations)
	header := len("go 1.26 trace\x00\x00\x00")
	const last = "preempted\x34" // the last string of a generation, and the event that ends it
	first := bytes.Index(data, []byte(last)) + len(last)
	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{MarkPrefix: "otelgc/"})
	if err != nil {
		t.Fatal(err)
	}
	decode := func(data []byte) (n int, err error) {
		for err = r.Reset(bytes.NewReader(data)); err == nil; n++ {
			if _, err = r.Next(); err == io.EOF {
				return n, nil
			}
		}
		return max(0, n-1), err
	}
	for n := range data {
		got, err := decode(data[:n])
		whole := n == header || n == first
		if whole != (err == nil) || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) || (n >= first) != (got == 1) {
			t.Fatalf("cut at %d: %d generations and error %v, the first ends at %d", n, got, err, first)
		}
		for bit := range 8 {
			flipped := bytes.Clone(data)
			flipped[n] ^= 1 << bit
			_, err := decode(flipped)
			var place *gotrace.Error
			if err != nil && !errors.As(err, &place) && !errors.Is(err, gotrace.ErrVersion) {
				t.Fatalf("bit %d of byte %d flipped: %v has no place", bit, n, err)
			}
		}
	}
}

// TestTwoTracesInOneFile: the second one's header is no batch.
func TestTwoTracesInOneFile(t *testing.T) {
	data := assemble(t, twoGenerations)
	got, err := firstError(t, slices.Concat(data, data))
	var place *gotrace.Error
	if got != 2 || !errors.As(err, &place) || place.Offset != int64(len(data)) || !strings.Contains(err.Error(), "a second trace") {
		t.Errorf("got %d generations and %v, want 2 and an error at byte %d that says so", got, err, len(data))
	}
}
