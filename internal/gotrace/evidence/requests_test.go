package evidence

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/stall"
)

func begun(at stall.Instant, id, parent, goroutine uint64) gotrace.Task {
	return gotrace.Task{At: at, ID: id, Parent: parent, Goroutine: goroutine, Name: "GET /"}
}

func ended(at stall.Instant, id, goroutine uint64) gotrace.Task {
	return gotrace.Task{At: at, ID: id, Goroutine: goroutine, End: true}
}

// TestRequests: a request is a task without a parent that the slice shows whole.
func TestRequests(t *testing.T) {
	const us = 1000
	r := NewRequests(second)
	type found struct {
		Task                     uint64
		Span                     stall.Span
		Moved                    bool
		Pause, AppOrHost, Unseen stall.Instant
	}
	learn := func(g *gotrace.Generation) (list []found, unfollow []uint64) {
		r.Begin()
		done, unfollow, _ := r.Learn(g, func() {})
		for _, q := range done {
			s := &q.Share
			list = append(list, found{q.Task, q.Span, q.Moved, stall.Instant(s.Charged[stall.GCPause]), stall.Instant(s.AppOrHost), stall.Instant(s.Unseen)})
		}
		return list, unfollow
	}
	run := func(id uint64, from, to stall.Instant) gotrace.Track { return gotrace.NewTrack(id, running(from, to)) }
	at := 2 * second
	first := &gotrace.Generation{
		Span: stall.Span{Start: at, End: at + 500*us},
		Stops: []gotrace.Stop{
			{Span: stall.Span{Start: at + 20*us, End: at + 25*us}, Goroutine: 3, GC: true},
			{Span: stall.Span{Start: at + 60*us, End: at + 65*us}, Goroutine: 99, GC: true},
		},
		Tasks: []gotrace.Task{
			ended(at+1*us, 1, 3),     // it began before the slice
			begun(at+10*us, 2, 0, 3), // a request
			begun(at+12*us, 3, 2, 3), // a part of it
			ended(at+14*us, 3, 3),
			ended(at+30*us, 2, 3),
			ended(at+31*us, 2, 3),    // once more
			begun(at+50*us, 4, 0, 4), // another goroutine will end it
			ended(at+70*us, 4, 5),
			begun(at+400*us, 6, 0, 6), // it goes on in the next generation
			begun(at+410*us, 7, 0, 7), // and behind the slice
		},
		Tracks: []gotrace.Track{run(3, at, at+500*us), run(4, at, at+500*us), run(6, at, at+500*us), run(7, at, at+500*us)},
	}
	got, unfollow := learn(first)
	want := []found{
		{2, stall.Span{Start: at + 10*us, End: at + 30*us}, false, 5 * us, 15 * us, 0},
		{4, stall.Span{Start: at + 50*us, End: at + 70*us}, true, 5 * us, 0, 15 * us},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{3, 4}, unfollow); diff != "" {
		t.Errorf("goroutines to let go (-want +got):\n%s", diff)
	}
	second := &gotrace.Generation{
		Span:   stall.Span{Start: at + 500*us, End: at + 900*us},
		Tasks:  []gotrace.Task{ended(at+600*us, 6, 6)},
		Tracks: []gotrace.Track{run(6, at+500*us, at+900*us), run(7, at+500*us, at+900*us)},
	}
	got, _ = learn(second)
	want = []found{{6, stall.Span{Start: at + 400*us, End: at + 600*us}, false, 0, 200 * us, 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests of two generations (-want +got):\n%s", diff)
	}
	r.Over()
	if got, want := r.TakeCut(), (Cut{End: 1, Begin: 2}); got != want {
		t.Errorf("cut: got %+v, want %+v", got, want)
	}
	if got, _ := learn(&gotrace.Generation{Span: stall.Span{Start: at + 5000*us, End: at + 6000*us}, Tasks: []gotrace.Task{ended(at+5100*us, 7, 7)}}); got != nil {
		t.Errorf("what was cut is a request: %v", got)
	}
}

// TestManyStops: a request that a stop delayed is charged it, however many stops follow in
// the slice.
func TestManyStops(t *testing.T) {
	const us = 1000
	r := NewRequests(second)
	for slice := range stall.Instant(2) {
		at := (2 + slice) * second
		g := &gotrace.Generation{
			Span:  stall.Span{Start: at, End: at + second/2},
			Tasks: []gotrace.Task{begun(at+10*us, 1, 0, 3), ended(at+30*us, 1, 3)},
			Tracks: []gotrace.Track{gotrace.NewTrack(3,
				running(at, at+15*us),
				gotrace.TrackSpan{StateSpan: stall.StateSpan{Start: at + 15*us, End: at + 22*us, State: stall.StateRunnable}},
				running(at+22*us, at+second/2))},
		}
		const stops = maxStops - 1
		for i := range stall.Instant(stops) {
			from := at + 15*us + 10*us*i
			g.Stops = append(g.Stops, gotrace.Stop{Span: stall.Span{Start: from, End: from + 5*us}, Goroutine: 99})
		}
		r.Begin()
		done, _, _ := r.Learn(g, func() {})
		if len(done) != 1 {
			t.Fatalf("%d requests, want one", len(done))
		}
		if s := &done[0].Share; s.Charged[stall.RuntimeSuspension] != 5*us || s.Charged[stall.Sched] != 2*us || s.Unseen != 0 {
			t.Errorf("slice %d: %v, want 5 us of the stop and 2 us of waiting", slice, s.Explain())
		}
		r.Over()
		if kept, room := r.log.Size(); kept > 1 || room != keptStops {
			t.Errorf("after the slice %d stops are kept, with room for %d", kept, room)
		}
	}
}

// TestRequestsAreBounded: of tasks that never end only so many are remembered.
func TestRequestsAreBounded(t *testing.T) {
	r := NewRequests(second)
	for i := range stall.Instant(20) {
		g := &gotrace.Generation{Span: stall.Span{Start: (i + 1) * second, End: (i + 2) * second}}
		for k := range stall.Instant(4000) {
			g.Tasks = append(g.Tasks, begun(g.Start+k, uint64(1+i*4000+k), uint64(k%2), uint64(1+k)))
		}
		r.Begin()
		r.Learn(g, func() {})
	}
	if len(r.open) > maxOpen || len(r.working) > maxOpen || len(r.kept) > keptGenerations {
		t.Errorf("%d tasks, %d goroutines and %d generations are remembered", len(r.open), len(r.working), len(r.kept))
	}
	if got, want := r.TakeCut(), (Cut{Over: 20*4000 - maxOpen}); got != want {
		t.Errorf("cut: got %+v, want %+v", got, want)
	}
}

// FuzzRequests goes from a trace of operations, see gotracetest.Compose, to requests.
// However little sense the trace makes, each request's time is shared out whole.
func FuzzRequests(f *testing.F) {
	for _, ops := range [][]byte{
		{0, 3, 1, 0, 27, 4, 0, 46, 1, 0, 5, 1, 5, 6, 1, 0, 47, 1, 0, 32, 0, 0, 4, 0, 0, 32, 0, 0},
		{0, 3, 1, 0, 27, 4, 0, 46, 1, 0, 46, 2, 1, 32, 0, 0, 47, 2, 0, 12, 1, 0, 47, 1, 0, 32, 0, 0},
		{0, 3, 1, 0, 27, 4, 0, 192 + 48, 1, 255, 32, 0, 0, 48, 1, 20, 47, 3, 0, 32, 0, 0},
	} {
		f.Add(ops)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		reader, err := gotrace.NewReader(bytes.NewReader(gotracetest.Compose(ops)), gotrace.Options{
			Tasks: true, Limits: gotrace.Limits{Transitions: 1 << 15, Records: 1 << 10},
		})
		if err != nil {
			t.Fatal(err)
		}
		r := NewRequests(second)
		defer r.Over()
		for n := 0; n < 64; n++ {
			g, err := reader.Next()
			if err != nil {
				return // the trace is as hostile as can be
			}
			r.Begin()
			done, unfollow, _ := r.Learn(g, func() {})
			for _, id := range unfollow {
				reader.Unfollow(id)
			}
			for i := range done {
				s := &done[i].Share
				sum := s.App + s.AppOrHost + s.Unseen + s.Uncertain
				for _, d := range s.Charged {
					sum += d
				}
				if sum != s.Total || s.Total > done[i].Duration() {
					t.Fatalf("%v of %v is shared out: %+v", sum, done[i].Duration(), s)
				}
			}
		}
	})
}
