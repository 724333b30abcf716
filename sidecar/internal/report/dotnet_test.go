package report

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	dotnetFiles = "../../../internal/nettrace/testdata" // streams of real processes
	dotnetTruth = "../../../internal/dotnetgc/testdata" // what an independent decoder rebuilt of them
)

// readJSON returns the document of a file as a user gets it.
func readJSON(t *testing.T, path string) (d Report) {
	t.Helper()
	r, err := ReadFile(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestCaptures holds the document of every capture to what an independent
// decoder made of it, to the nanosecond and the byte.
func TestCaptures(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(dotnetTruth, "*.gc.json"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d captures in %s (%v), want 8 or more", len(files), dotnetTruth, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".gc.json")
		t.Run(name, func(t *testing.T) {
			want, got := readTruth(t, file), readJSON(t, filepath.Join(dotnetFiles, name+".nettrace"))
			if diff := cmp.Diff(want.collections(), got.Collections, compareMaybe, ignoreDerived); diff != "" {
				t.Errorf("collections (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.suspensions(), got.Suspensions); diff != "" {
				t.Errorf("suspensions (-want +got):\n%s", diff)
			}
			if s := got.Source; s.Start != want.Trace.SyncQPC || s.PID != want.Trace.PID || s.CPUs != want.Trace.NProc || s.Clock != clockMonotonic {
				t.Errorf("source %+v does not fit %+v", s, want.Trace)
			}
			if cut := name == "target_sigkill" || name == "server_nonconc"; (len(got.Incomplete) > 0) != cut {
				t.Errorf("incomplete: %+v, want it only where the target was killed", got.Incomplete)
			}
		})
	}
}

// TestTimeInGCOfEach says it of every collection but the first: that of the sum is the
// last one's.
func TestTimeInGCOfEach(t *testing.T) {
	d := readJSON(t, filepath.Join(dotnetFiles, "nonconc.nettrace"))
	last := stall.Instant(0)
	for i, c := range d.Collections {
		p := c.Pauses[0]
		want := gc.Maybe[float64]{}
		if i > 0 {
			want = gc.Known(float64(p.End.Sub(p.Start)-p.Suspend.Or(0)) / float64(p.End.Sub(last)))
		}
		if c.TimeInGC != want {
			t.Errorf("collection %d: %v, want %v", c.Index, c.TimeInGC, want)
		}
		last = p.End
	}
	if got := d.Collections[len(d.Collections)-1].TimeInGC; got != d.Summary.TimeInGC || got.IsZero() {
		t.Errorf("of the last %v, in the summary %v", got, d.Summary.TimeInGC)
	}
}

func TestDotnetGolden(t *testing.T) {
	for _, name := range []string{"loh", "gen0_256k", "default_forced", "target_sigkill", "perfview-5.0-arraytypes"} {
		t.Run(name, func(t *testing.T) {
			checkGolden(t, filepath.Join(dotnetFiles, name+".nettrace"), name)
		})
	}
}

// TestTimeInGC computes the share by hand from what the independent decoder
// says: (TB(n) - TA(n)) / (TB(n) - TB(n-1)).
func TestTimeInGC(t *testing.T) {
	want := readTruth(t, filepath.Join(dotnetTruth, "default.gc.json"))
	r, err := ReadFile(filepath.Join(dotnetFiles, "default.nettrace"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	got := r.byRestart()
	if len(got) != len(want.STW) || !got[0].TimeInGC.IsZero() {
		t.Fatalf("%d collections of %d stops, the first with a share of %v", len(got), len(want.STW), got[0].TimeInGC)
	}
	for i, c := range got[1:] {
		before, s := want.STW[i], want.STW[i+1]
		w := gc.Known(float64(s.RestartBegin-s.Suspended) / float64(s.RestartBegin-before.RestartBegin))
		if c.number != i+2 || c.TimeInGC != w {
			t.Errorf("collection %d: %v, want collection %d: %v", c.number, c.TimeInGC, i+2, w)
		}
	}
	var suspended time.Duration
	for _, s := range want.STW {
		suspended += s.Suspended.Sub(s.Begin)
	}
	if got := r.Summary.Suspend; got != gc.Known(suspended) {
		t.Errorf("time to suspend %v, want %v", got, suspended)
	}
}
