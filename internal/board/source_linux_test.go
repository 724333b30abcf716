package board

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestSource: no board is an error each time it is looked for; a board that was lost
// and comes back brings no record twice; and Close brings what is left.
func TestSource(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "otelgc", "board")
	s := NewSource(SourceOptions{Paths: []string{path}, Clock: clock, Every: time.Nanosecond, Retry: time.Nanosecond})
	for range 2 {
		if _, err := s.Next(t.Context()); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("without a board: got %v, want %v", err, fs.ErrNotExist)
		}
	}
	w, err := Create(WriterOptions{Paths: []string{path}, Clock: clock, Source: stall.ProbePeriodic})
	if err != nil {
		t.Skipf("skipped: no board here: %v", err)
	}
	defer w.Close()
	at := clock.Now()
	write := func(from stall.Instant) {
		t.Helper()
		v := stall.Interval{Start: at + from, End: at + from + 10, Cause: stall.HostUnknown, Origin: stall.ProbePeriodic, Scope: stall.ScopeMachine}
		if err := w.Append(v); err != nil {
			t.Fatal(err)
		}
		w.Advance(at+from+20, 0, 0)
	}
	next := func(want ...stall.Instant) {
		t.Helper()
		b, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Intervals) != len(want) {
			t.Fatalf("got %v, want %d records", b.Intervals, len(want))
		}
		for i, v := range b.Intervals {
			if v.Start != at+want[i] {
				t.Errorf("record %d begins at %d, want %d", i, v.Start-at, want[i])
			}
		}
	}
	write(0)
	next(0)
	next()
	s.lose()
	write(100)
	next(100)
	write(200)
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	// The timer and the end are both due: either may come first.
	var last []stall.Interval
	for {
		b, err := s.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		last = append(last, b.Intervals...)
	}
	if len(last) != 1 || last[0].Start != at+200 {
		t.Errorf("at the end: got %v, want the record that was left", last)
	}
	if s.reader != nil {
		t.Error("the board is still open")
	}
}
