package stall

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// hostile holds the instants at which arithmetic breaks.
var hostile = []Instant{
	math.MinInt64, math.MinInt64 + 1, -1 << 56, -1, 0, 1, 1000, 1e9, 1<<56 - 1, 1 << 56, 1 << 62, math.MaxInt64 - 1, math.MaxInt64,
}

type chaos struct{ *rand.Rand }

func (r chaos) instant() Instant {
	if r.IntN(2) == 0 {
		return hostile[r.IntN(len(hostile))]
	}
	return Instant(r.IntN(1_000_000))
}

func (r chaos) span() Span { return Span{r.instant(), r.instant()} }

func (r chaos) intervals() []Interval {
	list := make([]Interval, r.IntN(8))
	for i := range list {
		list[i] = Interval{
			Start: r.instant(), End: r.instant(), Slack: time.Duration(r.instant()),
			Cause: Cause(r.IntN(256)), Scope: Scope(r.IntN(256)), Owner: Owner{PID: 1, Cgroup: 1},
		}
		if r.IntN(2) == 0 {
			list[i].Cause, list[i].Scope = list[i].Cause%NumCauses, list[i].Scope%NumScopes
		}
	}
	return list
}

func (r chaos) evidence() Evidence {
	e := Evidence{Process: r.intervals(), Own: r.intervals(), Host: r.intervals()}
	for range r.IntN(6) {
		s := r.span()
		e.Track = append(e.Track, StateSpan{s.Start, s.End, State(r.IntN(6))})
		e.Seen = append(e.Seen, r.span())
		e.TargetSeen = append(e.TargetSeen, r.span())
	}
	return e
}

// TestSharesSumToTotal is the law of the package, on evidence without sense.
func TestSharesSumToTotal(t *testing.T) {
	random := chaos{rand.New(rand.NewPCG(7, 8))}
	var j Joiner
	for range 20_000 {
		e := random.evidence()
		w := Window{Start: random.instant(), End: random.instant(), Arrival: random.instant(), Receipt: random.instant()}
		w.Place = &Place{PID: 1, Cgroups: []uint64{1}}
		var s Share
		j.Join(&w, &e, &s)
		checkLaw(t, &w, &e, &s)
		checkPieces(t, j.Pieces(nil, &w, &e), &w, &s)
		if t.Failed() {
			return
		}
	}
}

func checkLaw(t *testing.T, w *Window, e *Evidence, s *Share) {
	t.Helper()
	sum := s.Uncertain + s.App + s.AppOrHost + s.Unseen
	parts := []time.Duration{s.Uncertain, s.App, s.AppOrHost, s.Unseen, s.Covered}
	for c := range NumCauses {
		sum += s.Charged[c]
		parts = append(parts, s.Charged[c], s.Overlapped[c], s.HostDuring[c], s.Coincident[c])
	}
	if sum != s.Total {
		t.Errorf("join of %+v with %+v: parts sum to %d, Total is %d", *w, *e, sum, s.Total)
	}
	for _, d := range parts {
		if d < 0 || d > s.Total {
			t.Errorf("join of %+v with %+v: a part of %d, Total is %d", *w, *e, d, s.Total)
		}
	}
	if w.End < w.Start && s.Total != 0 {
		t.Errorf("join of %+v: Total %d of a window that ends before it starts", *w, s.Total)
	}
	if s.Charged[NoCause] != 0 {
		t.Errorf("join of %+v with %+v: %d charged to no cause", *w, *e, s.Charged[NoCause])
	}
}

// checkPieces checks that pieces fill the window, and that those of each part sum to
// what the share has of it.
func checkPieces(t *testing.T, pieces []Piece, w *Window, s *Share) {
	t.Helper()
	var want, got [NumParts]time.Duration
	for p := range NumParts {
		want[p] = *s.Of(p)
	}
	at := w.Extent().Start
	for i, p := range pieces {
		if p.Start != at || p.End <= p.Start || i > 0 && p.Part == pieces[i-1].Part {
			t.Errorf("piece %d of %+v: got %+v after %d", i, *w, p, at)
		}
		got[p.Part] += p.End.Sub(p.Start)
		at = p.End
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pieces of %+v by part (-want +got):\n%s", *w, diff)
	}
}

// TestPiecesGoOn: the pieces of two halves of a window are those of the whole.
func TestPiecesGoOn(t *testing.T) {
	e := Evidence{
		Process: []Interval{{Start: 40, End: 60, Cause: GCPause}},
		Seen:    []Span{{0, 100}},
		Track:   []StateSpan{{0, 40, StateRunning}, {40, 60, StateRunnable}, {60, 100, StateRunning}},
	}
	var j Joiner
	got := j.Pieces(nil, &Window{Start: 10, End: 50, Arrival: 5}, &e)
	got = j.Pieces(got, &Window{Start: 50, End: 90}, &e)
	want := []Piece{{5, 10, Part(Queue)}, {10, 40, AppOrHost}, {40, 60, Part(GCPause)}, {60, 90, AppOrHost}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
}

// TestJoinDoesNotDependOnTheOrderOfEvidence shuffles the lists.
func TestJoinDoesNotDependOnTheOrderOfEvidence(t *testing.T) {
	random := chaos{rand.New(rand.NewPCG(9, 10))}
	var j Joiner
	for range 2_000 {
		e := random.evidence()
		w := Window{Start: 1000, End: 900_000, Place: &Place{PID: 1, Cgroups: []uint64{1}}}
		var want, got Share
		j.Join(&w, &e, &want)
		for _, list := range [][]Interval{e.Process, e.Own, e.Host} {
			random.Shuffle(len(list), func(a, b int) { list[a], list[b] = list[b], list[a] })
		}
		random.Shuffle(len(e.Track), func(a, b int) { e.Track[a], e.Track[b] = e.Track[b], e.Track[a] })
		j.Join(&w, &e, &got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("join after a shuffle (-want +got):\n%s", diff)
		}
	}
}

func TestJoinDoesNotAllocate(t *testing.T) {
	windows, e := overlappingWindows(50, 10)
	e.Track = []StateSpan{{1, 100_000, StateParked}, {100_000, 200_000, StateRunning}}
	e.Host = []Interval{{Start: 5_000, End: 9_000, Slack: 10, Cause: HostSteal, Scope: ScopeMachine}}
	e.Seen = []Span{{1, 300_000}}
	e.TargetSeen = e.Seen
	var j Joiner
	var s Share
	all := func(int, *Share) bool { return true }
	if got := testing.AllocsPerRun(100, func() { j.All(windows, &e, all) }); got != 0 {
		t.Errorf("All: got %v allocations, want 0", got)
	}
	if got := testing.AllocsPerRun(100, func() { j.Join(&windows[3], &e, &s) }); got != 0 {
		t.Errorf("Join: got %v allocations, want 0", got)
	}
}

func TestJoinCutsWhatIsTooLong(t *testing.T) {
	w := Window{Start: 1, End: 1 << 62}
	e := Evidence{Process: []Interval{
		{Start: 1 << 55, End: 1<<55 + 10, Cause: GCPause},
		{Start: 1 << 56, End: 1 << 61, Cause: GCPause}, // an end beyond the cut, a begin at it
		{Start: 1 << 60, End: 1<<60 + 10, Cause: RuntimeSuspension},
	}}
	want := Share{Total: maxExtent, Unseen: maxExtent - 10, Pauses: 1, Collections: 1}
	want.Charged[GCPause] = 10
	var j Joiner
	var got Share
	j.Join(&w, &e, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("share (-want +got):\n%s", diff)
	}
}

func TestAllStopsWhenToldTo(t *testing.T) {
	windows, e := overlappingWindows(50, 10)
	var j Joiner
	calls := 0
	j.All(windows, &e, func(i int, _ *Share) bool { calls++; return i < 2 })
	if calls != 3 {
		t.Errorf("calls of yield: got %d, want 3", calls)
	}
}
