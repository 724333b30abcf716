package gcwatch

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

func TestWatermarkAdvancesWithoutCycles(t *testing.T) {
	settle(t)
	clock := newClock(t)
	var j journal
	w := start(t, Options{Clock: clock, Poll: time.Hour})
	defer w.Close()
	for range 10 {
		from := clock.Now()
		j.look(t, w)
		if mark := j.marks[len(j.marks)-1]; mark < from {
			t.Errorf("watermark: got %v before the flush began", from.Sub(mark))
		}
	}
	for i := 1; i < len(j.marks); i++ {
		if j.marks[i] < j.marks[i-1] {
			t.Errorf("watermark %d went back", i)
		}
	}
}

// TestWatermarkHold follows the watermark through a long cycle.
func TestWatermarkHold(t *testing.T) {
	s := newStory(t)
	w := &Watcher{ledger: ledger{edges: s.edges}}
	w.cur = s.reading()
	w.ledger.rebase(w.cur, true)
	read := func(d time.Duration, ended stall.Instant) stall.Instant {
		s.tick(d)
		w.prev, w.cur = w.cur, s.reading()
		w.reset()
		v := w.ledger.update(w.cur, w.prev)
		w.advance(v, ended)
		if v == balanced {
			w.ledger.rebase(w.cur, true)
		}
		return w.mark.at
	}
	clean := read(time.Millisecond, 0)
	if clean != w.cur.begin {
		t.Fatalf("nothing happened: watermark %d, want %d", clean, w.cur.begin)
	}
	s.stops(10 * us)
	if got := read(time.Millisecond, 0); got != clean {
		t.Errorf("cycle in progress: watermark %d, want it to stay at %d", got, clean)
	}
	sawEnd := w.cur.end
	if got := read(maxHold, 0); got != clean || len(w.batch.Unseen) != 0 {
		t.Errorf("after the longest hold: watermark %d, unseen %v", got, w.batch.Unseen)
	}
	got := read(time.Millisecond, 0)
	if want := (stall.Span{Start: clean, End: sawEnd}); got != w.cur.begin || len(w.batch.Unseen) != 1 || w.batch.Unseen[0] != want {
		t.Errorf("beyond it: watermark %d, unseen %v, want %d and %v", got, w.batch.Unseen, w.cur.begin, want)
	}
	if got := read(time.Millisecond, 0); got != w.cur.begin || len(w.batch.Unseen) != 0 {
		t.Errorf("later: watermark %d, unseen %v", got, w.batch.Unseen)
	}
	s.stops(30 * us).cycle(40 * us).stops(20 * us)
	ended := s.r.begin.Add(time.Millisecond)
	if got := read(5*time.Millisecond, ended); got != ended {
		t.Errorf("the next in progress: watermark %d, want the end %d of the one before", got, ended)
	}
	s.stops(25 * us).cycle(45 * us)
	if got := read(5*time.Millisecond, w.cur.end); got != w.cur.begin {
		t.Errorf("all over: watermark %d, want %d", got, w.cur.begin)
	}
	s.r.otherSettled = false
	before := w.mark.at
	if got := read(5*time.Millisecond, 0); got != before {
		t.Errorf("a stop not for the collector: watermark %d, want it to stay at %d", got, before)
	}
	w.giveUpLast() // nothing will settle it
	if want := (stall.Span{Start: before, End: w.cur.begin}); w.batch.Watermark != want.End || len(w.batch.Unseen) != 1 || w.batch.Unseen[0] != want {
		t.Errorf("at the end: watermark %d, unseen %v, want %v", w.batch.Watermark, w.batch.Unseen, want)
	}
}
