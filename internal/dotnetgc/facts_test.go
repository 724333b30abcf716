package dotnetgc_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// facts is what a scenario says of one collection.
type facts struct {
	Index      uint64
	Kind       string
	Generation int
	Pauses     [][3]stall.Instant // start, end, latest end
	Stops      int
	TraceEvent time.Duration
	Incomplete string
}

func factsOf(out dotnetgc.Output) []facts {
	var list []facts
	for i := range out.Collections {
		c := &out.Collections[i]
		f := facts{
			Index: c.Index, Kind: c.Kind.String(), Generation: c.Generation.Or(-1), Stops: len(c.Stops), Incomplete: c.Incomplete,
		}
		f.TraceEvent, _ = c.TraceEventPause()
		for _, p := range c.Pauses {
			f.Pauses = append(f.Pauses, [3]stall.Instant{p.Start, p.End, p.EndMax})
		}
		list = append(list, f)
	}
	return list
}

// clean wants a stream without anomalies.
func clean(t *testing.T, out dotnetgc.Output, stats dotnetgc.Stats) {
	t.Helper()
	if stats != (dotnetgc.Stats{}) || len(out.Incomplete) != 0 {
		t.Errorf("got %+v and %+v, want no anomalies", stats, out.Incomplete)
	}
}

func check(t *testing.T, want []facts, out dotnetgc.Output) {
	t.Helper()
	if diff := cmp.Diff(want, factsOf(out)); diff != "" {
		t.Errorf("collections (-want +got):\n%s", diff)
	}
}

var compareMaybe = cmp.AllowUnexported(
	gc.Maybe[int]{}, gc.Maybe[bool]{}, gc.Maybe[uint64]{}, gc.Maybe[float64]{}, gc.Maybe[gc.Bytes]{},
	gc.Maybe[stall.Instant]{}, gc.Maybe[time.Duration]{},
)
