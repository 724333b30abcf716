package host

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/stall"
)

// TestWatched: what a source of scope target says of this very process, and of no other,
// counts; and windows wait for it while it comes.
func TestWatched(t *testing.T) {
	path := t.TempDir() + "/otelgc/board"
	clock := testClock(t)
	h := newTestBoard(path, clock)
	h.Fail = func(err error) { t.Errorf("said: %v", err) }
	w, err := board.Create(board.WriterOptions{Paths: []string{path}, Source: stall.ProbeSpin})
	if err != nil {
		t.Skipf("skipped: no board here: %v", err)
	}
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	here := board.Here()
	own := stall.Owner{PID: here.PID, Created: here.Created}
	at := clock.Now()
	watched := func(from, to stall.Instant, o stall.Owner) {
		t.Helper()
		v := stall.Interval{Start: at + from, End: at + to, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: o}
		if err := w.Append(v); err != nil {
			t.Fatal(err)
		}
	}
	watched(1000, 2000, own)
	watched(1000, 9000, stall.Owner{PID: here.PID + 1, Created: here.Created})
	watched(1000, 9000, stall.Owner{PID: here.PID, Created: here.Created + 1})
	watched(2000, 3000, own)
	watched(5000, 6000, own)
	watched(8000, 8000, own) // it is there, and sure of nothing
	if err := w.Append(stall.Interval{Start: at + 1500, End: at + 1600, Cause: stall.HostPreempted, Origin: stall.TargetWatch, Scope: stall.ScopeTarget, CPU: -1, Owner: own}); err != nil {
		t.Fatal(err)
	}
	w.Advance(at+10_000, 0, 0)
	readOnce(t, h)

	all := stall.Span{Start: 0, End: at + 20_000}
	want := []stall.Span{{Start: at + 1000, End: at + 3000}, {Start: at + 5000, End: at + 6000}}
	if diff := cmp.Diff(want, h.Watched.Seen(nil, all)); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
	if got := h.Log.Intervals(nil, all); len(got) != 1 || got[0].Cause != stall.HostPreempted {
		t.Errorf("stalls: got %+v, want the one", got)
	}
	if got := h.Log.Watermark(); got != at+8000 {
		t.Errorf("watermark: got %d, want that of the watch, %d", got-at, 8000)
	}
	late := at + 8000 + stall.Instant(2*watchLag)
	w.Advance(late, 0, 0)
	readOnce(t, h)
	if got := h.Log.Watermark(); got != late {
		t.Errorf("watermark with a watch that has ended: got %d, want the board's, %d", got-at, late-at)
	}
}

// newTestBoard is a Board that a test reads itself, as often as it likes.
func newTestBoard(path string, clock stall.Clock) *Board {
	h := NewBoard(nil, board.Here(), clock)
	h.Source = board.NewSource(board.SourceOptions{Paths: []string{path}, Clock: clock, Every: time.Nanosecond, Retry: time.Nanosecond})
	h.Overrun = func(uint64) {}
	return h
}

// readOnce takes in what is new on the board.
func readOnce(t *testing.T, h *Board) {
	t.Helper()
	if b, err := h.Source.Next(t.Context()); err == nil {
		h.Take(&b)
	} else if !h.Failed(err) {
		t.Errorf("a board that fails once is read no more: %v", err)
	}
}

// TestBoardInADirectoryOfOthers: it is not believed, and said once.
func TestBoardInADirectoryOfOthers(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/board"
	clock := testClock(t)
	if w, err := board.Create(board.WriterOptions{Paths: []string{path}, Source: stall.ProbePeriodic}); err != nil {
		t.Skipf("skipped: no board here: %v", err)
	} else {
		defer func() { _ = w.Close() }()
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	h := newTestBoard(path, clock)
	var said []string
	h.Fail = func(err error) { said = append(said, err.Error()) }
	for range 10 {
		readOnce(t, h)
	}
	want := "open board: foreign board: not only its owner may write directory " + dir + " (mode 0777): chmod go-w"
	if len(said) != 1 || said[0] != want || h.Open() {
		t.Errorf("open %v, said %q, want once %q", h.Open(), said, want)
	}
}

// TestBoardIsReadOnce: a board that was lost and comes back brings no gap twice,
// and each by its own source.
func TestBoardIsReadOnce(t *testing.T) {
	path := t.TempDir() + "/otelgc/board"
	clock := testClock(t)
	h := newTestBoard(path, clock)
	h.Fail = func(err error) { t.Errorf("said: %v", err) }
	readOnce(t, h) // not there yet: the ordinary case
	w, err := board.Create(board.WriterOptions{Paths: []string{path}, Source: stall.ProbePeriodic})
	if err != nil {
		t.Skipf("skipped: no board here: %v", err)
	}
	at := clock.Now()
	if err := w.Append(stall.Interval{Start: at, End: at + 1000, Cause: stall.HostUnknown, Origin: stall.ProbePeriodic, Scope: stall.ScopeMachine}); err != nil {
		t.Fatal(err)
	}
	w.Advance(at+2000, 0, 0)
	for range 3 {
		readOnce(t, h)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	readOnce(t, h)
	all := stall.Span{Start: 0, End: at.Add(time.Hour)}
	got := h.Log.Intervals(nil, all)
	if len(got) != 1 {
		t.Fatalf("%d gaps, want the one that was written", len(got))
	}
	if got[0].Origin != stall.ProbePeriodic {
		t.Errorf("the gap is of %v, want the source that the board names", got[0].Origin)
	}
}
