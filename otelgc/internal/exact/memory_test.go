package exact

import (
	"reflect"
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestMemoryIsGivenBack: between slices that are far apart no memory is held for the
// next one.
func TestMemoryIsGivenBack(t *testing.T) {
	x := newTracer(t, 1)
	for i := range stall.Instant(3) {
		at := (i + 1) * second
		x.Store.Learn(&gotrace.Generation{
			Span:   stall.Span{Start: at, End: at + second},
			Tracks: []gotrace.Track{gotrace.NewTrack(7, running(at, at+second))},
		}, nil)
	}
	x.Store.Settled(4 * second)
	x.reader = new(gotrace.Reader)
	x.free <- make([]byte, 1)
	x.giveBack()
	if x.reader != nil || len(x.free) != 0 || !reflect.DeepEqual(x.Store.spare, new(generation)) || x.Store.blank != nil {
		t.Error("memory of a slice is held when none is traced")
	}
}
