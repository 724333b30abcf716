package report

import (
	"bytes"
	"testing"

	"github.com/otelgc/otelgc/sidecar/internal/perfetto/perfettotest"
)

// TestPerfetto: each collection and each stop of a file is a slice of the trace, as long as
// it was, and the slices of a track do not overlap.
func TestPerfetto(t *testing.T) {
	for _, file := range []string{
		"../../../internal/gotrace/testdata/go1.26.8.trace",
		"../../../internal/nettrace/testdata/gen0_256k.nettrace",
	} {
		r, err := ReadFile(file, Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := r.WritePerfetto(&b); err != nil {
			t.Fatal(err)
		}
		got := map[uint64]int{}     // slices that begin, by instant
		open := map[uint64]uint64{} // when the slice of a track began
		tracks := 0
		for _, p := range perfettotest.Decode(t, b.Bytes()) {
			e := p.Event
			if e == nil {
				tracks++
				continue
			}
			switch e.Type {
			case "TYPE_SLICE_BEGIN":
				if begun, is := open[e.Track]; is {
					t.Errorf("%s: a slice of track %d begins at %d within one from %d on", file, e.Track, e.At, begun)
				}
				open[e.Track] = e.At
				got[e.At]++
			case "TYPE_SLICE_END":
				if begun, is := open[e.Track]; !is || e.At < begun {
					t.Errorf("%s: a slice of track %d ends at %d, which began at %d", file, e.Track, e.At, begun)
				}
				delete(open, e.Track)
			}
		}
		if tracks < 4 {
			t.Errorf("%s: %d tracks", file, tracks)
		}
		if len(open) > 0 {
			t.Errorf("%s: slices that do not end: %v", file, open)
		}
		for c, p := range r.pauses() {
			if got[uint64(p.Start)] == 0 {
				t.Errorf("%s: no slice for a pause of GC %d at %d", file, c.Index, p.Start)
			}
		}
		for _, s := range r.Suspensions {
			if got[uint64(s.Start)] == 0 {
				t.Errorf("%s: no slice for a stop at %d", file, s.Start)
			}
		}
	}
}
