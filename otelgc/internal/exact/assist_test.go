package exact

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// ranges returns n assists or sweeps of a goroutine.
func ranges(goroutine uint64, n int) (list []gotrace.Range) {
	for i := range stall.Instant(n) {
		at := second + 1000*i
		list = append(list, gotrace.Range{Span: stall.Span{Start: at, End: at + 10}, Goroutine: goroutine, Kind: gotrace.RangeKind(i % 2)})
	}
	return list
}

// TestTooManyRanges: of whom not all assists and sweeps can be kept nothing is
// known, rather than that the time was its own. Others are followed.
func TestTooManyRanges(t *testing.T) {
	const (
		busy, child, quiet = 7, 8, 9
		tooMany            = 200_000 // for a generation
	)
	b := newStore(second)
	g := &gotrace.Generation{
		Span: stall.Span{Start: second, End: 2 * second},
		Marks: []gotrace.Mark{
			mark0(second, busy, gotrace.WindowBegin, 3), mark0(second, quiet, gotrace.WindowBegin, 4),
			mark0(second+10_000, child, gotrace.WindowJoin, 4),
		},
		Tracks: []gotrace.Track{
			gotrace.NewTrack(busy, running(second, 2*second)), gotrace.NewTrack(child, running(second, 2*second)),
			gotrace.NewTrack(quiet, running(second, second+20_000), inState(second+20_000, second+50_000, stall.StateParked), running(second+50_000, 2*second)),
		},
		Ranges: append(append(ranges(busy, tooMany), ranges(child, tooMany)...), ranges(quiet, 2)...),
	}
	if _, lost := b.Learn(g, nil); lost != 2 {
		t.Errorf("of %d goroutines there was too much, want 2", lost)
	}
	share := func(slot int16) (s stall.Share) {
		w := stall.Window{Start: second, End: second + 100_000}
		e := followed(b, w, slot, w.Start)
		e.Seen = b.timeline.Exact.Seen(nil, stall.Span{End: 3 * second})
		new(stall.Joiner).Join(&w, &e, &s)
		return s
	}
	if s := share(3); s.Unseen != s.Total {
		t.Errorf("the busy one's window: %+v, want it unseen", s)
	}
	want := stall.Share{Total: 100_000, Covered: 100_000, AppOrHost: 69_980, Unseen: 30_000}
	want.Charged[stall.GCAssist], want.Charged[stall.GCSweep] = 10, 10
	if diff := cmp.Diff(want, share(4)); diff != "" {
		t.Errorf("a window that waited for the busy one (-want +got):\n%s", diff)
	}
}

// TestLostRangesAreUnseen: the decoder says that there were more.
func TestLostRangesAreUnseen(t *testing.T) {
	for _, lost := range []gotrace.Lost{{Ranges: 1}, {Workers: 1}} {
		b := newStore(second)
		b.Learn(&gotrace.Generation{Span: stall.Span{Start: second, End: 2 * second}, Lost: lost}, nil)
		b.Learn(&gotrace.Generation{Span: stall.Span{Start: 2 * second, End: 3 * second}}, nil)
		got := b.timeline.Exact.Seen(nil, stall.Span{End: 4 * second})
		if diff := cmp.Diff([]stall.Span{{Start: 2 * second, End: 3 * second}}, got); diff != "" {
			t.Errorf("%+v: seen (-want +got):\n%s", lost, diff)
		}
	}
}
