package resolve

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/exact"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestStreamOfAnHour: each second of it is settled when it is seen, with what
// happened in it, and nothing is kept of it but sums. A child that joined in the
// first second counts in the last.
func TestStreamOfAnHour(t *testing.T) {
	p := play(t)
	const own, child = 7, 8
	stream := p.open(second + 500)
	hour := anHour()
	for i := range hour {
		at := (i + 1) * second
		g := &gotrace.Generation{
			Span: stall.Span{Start: at, End: at + second},
			Tracks: []gotrace.Track{
				gotrace.NewTrack(own,
					running(at, at+1e6), inState(at+1e6, at+900e6, stall.StateParked), runnable(at+900e6, at+910e6), running(at+910e6, at+950e6),
					runnable(at+950e6, at+951e6), running(at+951e6, at+second),
				),
				gotrace.NewTrack(child,
					inState(at, at+400e6, stall.StateParked), running(at+400e6, at+500e6), inState(at+500e6, at+second, stall.StateParked),
				),
			},
			Ranges: []gotrace.Range{{Span: stall.Span{Start: at + 410e6, End: at + 412e6}, Goroutine: child}},
			Stops:  []gotrace.Stop{{Span: stall.Span{Start: at + 950e6, End: at + 951e6}, GC: true, Phase: gc.SweepTermination}},
		}
		if i == 0 {
			g.Marks = []gotrace.Mark{
				{At: at + 600, Goroutine: own, Key: key(stream.Slot, gotrace.WindowBegin)},
				{At: at + 900, Goroutine: child, Key: key(stream.Slot, gotrace.WindowJoin)},
			}
		}
		p.trace(g)
		if p.Tracer.Store.Unsettled(at - second) {
			t.Fatalf("after %d s more than two generations are kept", i)
		}
		if n := len(p.longs.of); n > 1 {
			t.Fatalf("after %d s %d windows are settled in part", i, n)
		}
	}
	p.end(stream, (hour+1)*second)
	p.see((hour + 3) * second)
	if len(p.got) != 1 {
		t.Fatalf("%d windows, want 1", len(p.got))
	}
	s := p.got[0].s
	var want stall.Share
	each := time.Duration(hour) * time.Millisecond // a millisecond of each second
	want.Total = 1000*each - 500
	want.Charged[stall.GCAssist] = 2 * each
	want.Charged[stall.GCPause] = each
	want.Charged[stall.Sched] = 10 * each
	want.AppOrHost = (1+100-2+90-1)*each - 500
	want.App = (899 - 100) * each
	want.Covered, want.Pauses, want.Collections, want.Fidelity = want.Total, int(hour), int(hour)+1, stall.Exact // the first assist is of one that began before
	want.LastCollection = 1<<63 | uint64(hour) + 1                                                               // no end was noticed: its index is not known
	if diff := cmp.Diff(want, s); diff != "" {
		t.Errorf("share (-want +got):\n%s", diff)
	}
	if len(p.longs.of) != 0 {
		t.Error("something is kept of a window that is resolved")
	}
}

// TestGenerationsAreGivenBack: between slices that are far apart none is held but
// what is not settled.
func TestGenerationsAreGivenBack(t *testing.T) {
	p := play(t)
	w := p.open(second + 500)
	for i := range stall.Instant(3) {
		p.trace(&gotrace.Generation{
			Span:   stall.Span{Start: (i + 1) * second, End: (i + 2) * second},
			Marks:  []gotrace.Mark{{At: second + 600, Goroutine: 7, Key: key(w.Slot, gotrace.WindowBegin)}},
			Tracks: []gotrace.Track{gotrace.NewTrack(7, running((i+1)*second, (i+2)*second))},
		})
	}
	p.end(w, 4*second)
	p.Tracer.Store.LearnUnseen(20 * second)
	p.see(20 * second)
	if len(p.got) != 1 || p.got[0].s.Fidelity != stall.Exact {
		t.Errorf("got %v, want one window that was followed", p.got)
	}
	for i := range stall.Instant(2) {
		p.Tracer.Store.LearnUnseen((30 + i) * second)
		p.see((30 + i) * second)
	}
	if p.Tracer.Store.Unsettled(p.now) {
		t.Error("generations are kept long after the slice")
	}
}

// TestPiecesAreTheWhole: a window that is settled in pieces has the share that
// it would have in one, whatever happens at the cuts.
func TestPiecesAreTheWhole(t *testing.T) {
	for seed := range uint64(100) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		p, line := play(t), timeline.New(second)
		whole := exact.NewStore(second, p.Clock, window.NewSlots(), line)
		const seconds = 6
		start := second + stall.Instant(rnd.Int64N(1e9))
		w := p.open(start)
		end := (seconds+1)*second - stall.Instant(rnd.Int64N(5e8))
		for i := range stall.Instant(seconds) {
			if i == seconds-1 {
				p.end(w, end)
			}
			g := randomGeneration(rnd, (i+1)*second, (i+2)*second, w, i == 0)
			whole.Learn(g, nil)
			p.trace(g)
		}
		p.see((seconds + 4) * second)
		if len(p.got) != 1 {
			t.Fatalf("seed %d: %d windows, want 1", seed, len(p.got))
		}
		window := stall.Window{Start: start, End: end, Place: p.Place}
		var e stall.Evidence
		whole.Follow(&e, &window, w.Slot, stall.Span{Start: w.Held, End: window.End}, new(exact.Carrier))
		e.Seen = line.Exact.Seen(nil, window.Extent())
		e.Process = line.Exact.Intervals(nil, window.Extent())
		var want stall.Share
		new(stall.Joiner).Join(&window, &e, &want)
		if got := p.got[0].s; want.GC() > 0 {
			// Counted in their own test.
			want.Collections, want.LastCollection = max(1, got.Collections), got.LastCollection
		}
		if diff := cmp.Diff(want, p.got[0].s); diff != "" {
			t.Fatalf("seed %d: share (-whole +pieces):\n%s", seed, diff)
		}
	}
}

// randomGeneration has states, stops, assists and joins anywhere.
func randomGeneration(rnd *rand.Rand, start, end stall.Instant, w window.Open, first bool) *gotrace.Generation {
	g := &gotrace.Generation{Span: stall.Span{Start: start, End: end}}
	at := func() stall.Instant { return start + stall.Instant(rnd.Int64N(int64(end-start))) }
	if first {
		g.Marks = append(g.Marks, gotrace.Mark{At: w.Start + 100, Goroutine: 7, Key: key(w.Slot, gotrace.WindowBegin)})
	}
	for _, id := range []uint64{7, 8} {
		var spans []gotrace.TrackSpan
		for from := start; from < end; {
			to := min(end, from+stall.Instant(1+rnd.Int64N(3e8)))
			spans = append(spans, inState(from, to, stall.State(1+rnd.IntN(3))))
			from = to
		}
		g.Tracks = append(g.Tracks, gotrace.NewTrack(id, spans...))
		from := at()
		g.Ranges = append(g.Ranges, gotrace.Range{Span: stall.Span{Start: from, End: min(end, from+stall.Instant(rnd.Int64N(1e8)))}, Goroutine: id})
	}
	if rnd.IntN(2) == 0 {
		if t := at(); t > w.Start+200 {
			g.Marks = append(g.Marks, gotrace.Mark{At: t, Goroutine: 8, Key: key(w.Slot, []gotrace.WindowMark{gotrace.WindowJoin, gotrace.WindowLeave}[rnd.IntN(2)])})
		}
	}
	// One stop lies near the end, where the cut is.
	for _, from := range []stall.Instant{at(), end - stall.Instant(rnd.Int64N(2e5))} {
		to := min(end, from+stall.Instant(1000+rnd.Int64N(1e5)))
		if n := len(g.Stops); n == 0 || from > g.Stops[n-1].End {
			s := gotrace.Stop{Span: stall.Span{Start: from, End: to}, GC: true, Phase: gc.SweepTermination}
			s.Goroutine = []uint64{0, 7, 8}[rnd.IntN(3)] // of who may run in it
			if rnd.IntN(2) == 0 {
				s.Restart = from + (to-from)/2
			}
			g.Stops = append(g.Stops, s)
		}
	}
	return g
}

// TestStreamWithoutASlot: of a window that lasts and could not be settled piece by
// piece, what came before what is remembered is unseen, and counted. The pauses
// that are remembered are in it.
func TestStreamWithoutASlot(t *testing.T) {
	p := play(t)
	const each = 1000
	_, room := p.Timeline.Cycle.Size()
	pauses := room + 1000
	for i := range stall.Instant(pauses) {
		at := (i + 2) * second
		p.Timeline.Cycle.Add(stall.Interval{Start: at, End: at + each, Cause: stall.GCPause})
	}
	end := stall.Instant(pauses+3) * second
	p.Tracer.Store.LearnUnseen(end)
	p.Windows.Requests.Push(window.Ended{Start: second + 500, End: end - second, Held: second + 500, Slot: window.NoSlot})
	p.Windows.Requests.Push(window.Ended{Start: end - 2*second, End: end - second, Held: end - 2*second, Slot: window.NoSlot})
	p.see(end)
	if len(p.got) != 2 {
		t.Fatalf("%d windows, want 2", len(p.got))
	}
	s := p.got[0].s
	if got, want := s.Charged[stall.GCPause], time.Duration(room*each); got != want || s.Unseen != s.Total-want {
		t.Errorf("%v of pauses and %v of %v unseen, want %v and the rest", got, s.Unseen, s.Total, want)
	}
	if n := p.forgotten.Load(); n != 1 {
		t.Errorf("%d windows have a past that is forgotten, want 1", n)
	}
}
