package report

import (
	"bytes"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// event is an event of a track.
type event struct {
	at, kind, track uint64
}

// events reads the events of a trace, and how many tracks it has.
func events(t *testing.T, trace []byte) (list []event, tracks int) {
	t.Helper()
	each := func(b []byte, f func(number protowire.Number, v uint64, text []byte)) {
		for len(b) > 0 {
			number, kind, n := protowire.ConsumeTag(b)
			if n < 0 {
				t.Fatal(protowire.ParseError(n))
			}
			b = b[n:]
			var v uint64
			var text []byte
			switch kind {
			case protowire.VarintType:
				v, n = protowire.ConsumeVarint(b)
			case protowire.Fixed64Type:
				v, n = protowire.ConsumeFixed64(b)
			default:
				text, n = protowire.ConsumeBytes(b)
			}
			if n < 0 {
				t.Fatal(protowire.ParseError(n))
			}
			b = b[n:]
			f(number, v, text)
		}
	}
	each(trace, func(_ protowire.Number, _ uint64, packet []byte) {
		var e event
		each(packet, func(number protowire.Number, v uint64, text []byte) {
			switch number {
			case 8:
				e.at = v
			case 60:
				tracks++
			case 11:
				each(text, func(number protowire.Number, v uint64, _ []byte) {
					switch number {
					case 9:
						e.kind = v
					case 11:
						e.track = v
					}
				})
			}
		})
		if e.kind != 0 {
			list = append(list, e)
		}
	})
	return list, tracks
}

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
		got := map[uint64]int{} // slices that begin, by instant
		open := map[uint64]event{}
		list, tracks := events(t, b.Bytes())
		if tracks < 4 {
			t.Errorf("%s: %d tracks", file, tracks)
		}
		for _, e := range list {
			switch e.kind {
			case 1:
				if begun, is := open[e.track]; is {
					t.Errorf("%s: a slice of track %d begins at %d within one from %d on", file, e.track, e.at, begun.at)
				}
				open[e.track] = e
				got[e.at]++
			case 2:
				if begun, is := open[e.track]; !is || e.at < begun.at {
					t.Errorf("%s: a slice of track %d ends at %d, which began at %d", file, e.track, e.at, begun.at)
				}
				delete(open, e.track)
			}
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
