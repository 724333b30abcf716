package report

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/race"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestWindowsTicks gives a capture the clock of a Windows machine: every time is
// scaled, exactly, and every size the same.
func TestWindowsTicks(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(dotnetFiles, "loh.nettrace"))
	if err != nil {
		t.Fatal(err)
	}
	const hz = 3_124_099 // a real machine's
	linux, err := Read("linux", bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, binary.LittleEndian.AppendUint64(nil, 1e9))
	binary.LittleEndian.PutUint64(data[at:], hz)
	windows, err := Read("windows", bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s := windows.Source; s.Tick != hz || s.Clock != clockFile {
		t.Errorf("clock %q of %d Hz, want the file's own of %d", s.Clock, s.Tick, hz)
	}
	scale := func(ticks stall.Instant) stall.Instant {
		whole, rest := ticks/hz, ticks%hz
		return whole*1e9 + rest*1e9/hz
	}
	if got, want := windows.Source.Start, scale(linux.Source.Start); got != want {
		t.Errorf("the file starts at %d, want %d", got, want)
	}
	for i := range linux.Collections {
		want, got := linux.Collections[i].Collection, windows.Collections[i].Collection
		for k, p := range want.Pauses {
			g := got.Pauses[k]
			if g.Start != scale(p.Start) || g.End != scale(p.End) || g.EndMax != scale(p.EndMax) {
				t.Errorf("GC %d: pause %+v, want %+v scaled", got.Index, g, p)
			}
		}
		if got.HeapAfter != want.HeapAfter || got.Kind != want.Kind {
			t.Errorf("GC %d: kind %v, heap after %v, want %v, %v", got.Index, got.Kind, got.HeapAfter, want.Kind, want.HeapAfter)
		}
	}
}

// TestCutDotnet cuts a capture anywhere.
func TestCutDotnet(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(dotnetFiles, "collect5.nettrace"))
	if err != nil {
		t.Fatal(err)
	}
	all, err := Read("whole", bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	whole := map[uint64]gc.Collection{}
	for _, c := range all.Collections {
		whole[c.Index] = c.Collection
	}
	step := 7 // a prime: every kind of place is met
	if race.Enabled {
		step = 367 // one goroutine reads: there is no race to be found, and a minute to be lost
	}
	for n := 0; n < len(data); n += step {
		r, err := Read("cut", bytes.NewReader(data[:n]), Options{})
		if (r == nil) == (err == nil) {
			t.Fatalf("cut to %d of %d bytes: report %v, error %v, want one of them", n, len(data), r != nil, err)
		}
		if r == nil {
			continue
		}
		if len(r.Incomplete) == 0 {
			t.Fatalf("cut to %d of %d bytes: nothing is said to be missing", n, len(data))
		}
		for _, c := range r.Collections {
			if c.Incomplete != "" {
				continue
			}
			if diff := cmp.Diff(whole[c.Index], c.Collection, compareMaybe); diff != "" {
				t.Fatalf("cut to %d bytes: GC %d is called whole (-want +got):\n%s", n, c.Index, diff)
			}
		}
	}
}
