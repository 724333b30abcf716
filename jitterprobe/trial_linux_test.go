package jitterprobe

import (
	"math"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

func TestTryOfASpinner(t *testing.T) {
	got, err := Try(Options{Mode: Spin}, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got.Mode != Spin {
		t.Skipf("no spinning here: %s", got.Note)
	}
	if off := float64(got.Counted)/float64(got.Span) - 1; math.Abs(off) > 1e-4 {
		t.Errorf("counter ran %v while the clock ran %v: off by %.1f ppm, want at most 100", got.Counted, got.Span, 1e6*off)
	}
	if got.Seen < 0.9999 || got.Seen > 1 {
		t.Errorf("seen: got %v, want 1", got.Seen)
	}
	if got.Own == nil || *got.Own != (Own{}) {
		t.Errorf("the thread's own doing: got %+v, want nothing", got.Own)
	}
	if got.CPUs > 1 && (got.Apart <= 0 || got.Apart > time.Millisecond) {
		t.Errorf("counters of %d CPUs: got %v apart", got.CPUs, got.Apart)
	}
}

func TestTryOfSleeps(t *testing.T) {
	got, err := Try(Options{Mode: Periodic}, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if got.Mode != Periodic || got.Counted != 0 || got.Own != nil || got.CPUs != 0 {
		t.Errorf("a mode without counter and thread: got %+v", got)
	}
	if got.Seen < 0.9999 || got.Seen > 1 {
		t.Errorf("seen: got %v, want 1", got.Seen)
	}
}

func TestSeenOf(t *testing.T) {
	span := stall.Span{Start: 1000, End: 2000}
	for _, test := range []struct {
		from, to stall.Instant
		dropped  time.Duration
		want     float64
	}{
		{900, 2100, 0, 1}, {1000, 2000, 0, 1}, {1500, 2100, 0, 0.5},
		{900, 1250, 0, 0.25}, {900, 2100, 100, 0.9}, {2500, 2600, 0, 0},
	} {
		s := Snapshot{Start: test.from, Watermark: test.to, DroppedTime: test.dropped}
		if got := seenOf(&s, span); math.Abs(got-test.want) > 1e-12 {
			t.Errorf("sight from %d to %d without %v: got %v, want %v", test.from, test.to, test.dropped, got, test.want)
		}
	}
}
