package events

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/stall"
)

// TestCoverage goes through a life: seen late, a loss, a session that breaks
// and one more.
func TestCoverage(t *testing.T) {
	var c coverage
	want := func(now, mark stall.Instant, spans ...stall.Span) {
		t.Helper()
		gotMark, got := c.status(now)
		if gotMark != mark {
			t.Errorf("watermark at %d: got %d, want %d", now, gotMark, mark)
		}
		if diff := cmp.Diff(spans, got); diff != "" {
			t.Errorf("unseen at %d (-want +got):\n%s", now, diff)
		}
	}
	c.attach(100, 1000)
	want(1000, 1000, stall.Span{Start: 100, End: 1000})
	c.saw(1500)
	c.saw(1400)
	want(1600, 1500)
	c.miss(stall.Span{Start: 0, End: 1100}) // where a loss began is not known
	want(1600, 1500, stall.Span{Start: 1000, End: 1100})
	c.saw(2000)
	c.detach()
	c.saw(2100) // nothing is seen any more
	want(2500, 2500, stall.Span{Start: 2000, End: 2500})
	c.attach(100, 2700)
	c.saw(3000)
	want(3100, 3000, stall.Span{Start: 2500, End: 2700})
	if got, want := c.Unseen, 800*time.Nanosecond; got != want {
		t.Errorf("unseen since the first session: got %v, want %v", got, want)
	}
	if got, want := c.Fraction(), 0.6; got != want {
		t.Errorf("covered: got %v, want %v", got, want)
	}
}

func TestCoverageIsBounded(t *testing.T) {
	var c coverage
	c.attach(0, 1)
	c.status(1)
	for i := range stall.Instant(10 * maxUnseen) {
		c.miss(stall.Span{Start: 10 * i, End: 10*i + 1})
	}
	_, spans := c.status(20000)
	if len(spans) != maxUnseen || spans[maxUnseen-1].End != 10*(10*maxUnseen-1)+1 {
		t.Errorf("%d spans, the last %v: want %d, of which the last reaches to the end", len(spans), spans[len(spans)-1], maxUnseen)
	}
}

func TestWaiting(t *testing.T) {
	var w waiting
	stop := func(begin stall.Instant, collections ...uint64) {
		w.stop(&dotnetgc.Stop{Begin: begin, Collections: collections})
	}
	check := func(want stall.Instant) {
		t.Helper()
		if got := w.bound(1000); got != want {
			t.Errorf("watermark: got %d, want %d", got, want)
		}
	}
	check(1000)
	stop(500, 7) // the first pause of a background collection
	check(500)
	stop(600, 8)
	w.collection(8)
	check(500)
	stop(700, 7) // its second one
	w.collection(7)
	check(1000)
	stop(800, 7) // its record came before
	check(1000)
	w.pending = 900
	check(900)
	w.reset()
	check(1000)
	for i := range uint64(3 * maxWaiting) {
		stop(stall.Instant(i), i+1)
	}
	check(2 * maxWaiting)
}
