package coverage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

// TestCoverage goes through a life: seen late, a loss, a session that breaks
// and one more.
func TestCoverage(t *testing.T) {
	var c Tracker
	want := func(now, mark stall.Instant, spans ...stall.Span) {
		t.Helper()
		gotMark, got := c.Take(now)
		if gotMark != mark {
			t.Errorf("watermark at %d: got %d, want %d", now, gotMark, mark)
		}
		if diff := cmp.Diff(spans, got); diff != "" {
			t.Errorf("unseen at %d (-want +got):\n%s", now, diff)
		}
	}
	c.Attach(100, 1000)
	want(1000, 1000, stall.Span{Start: 100, End: 1000})
	c.Saw(1500)
	c.Saw(1400)
	want(1600, 1500)
	c.Miss(stall.Span{Start: 0, End: 1100}) // where a loss began is not known
	want(1600, 1500, stall.Span{Start: 1000, End: 1100})
	c.Saw(2000)
	c.Detach()
	c.Saw(2100) // nothing is seen any more
	want(2500, 2500, stall.Span{Start: 2000, End: 2500})
	c.Attach(100, 2700)
	c.Saw(3000)
	want(3100, 3000, stall.Span{Start: 2500, End: 2700})
	if got, want := c.Unseen, 800*time.Nanosecond; got != want {
		t.Errorf("unseen since the first session: got %v, want %v", got, want)
	}
	if got, want := c.Fraction(), 0.6; got != want {
		t.Errorf("covered: got %v, want %v", got, want)
	}
}

func TestCoverageIsBounded(t *testing.T) {
	var c Tracker
	c.Attach(0, 1)
	c.Take(1)
	for i := range stall.Instant(10 * maxUnseen) {
		c.Miss(stall.Span{Start: 10 * i, End: 10*i + 1})
	}
	if got, want := c.Unseen, (10*maxUnseen-1)*time.Nanosecond; got != want || len(c.counted) > maxUnseen {
		t.Errorf("unseen %v by %d spans, want %v by at most %d", got, len(c.counted), want, maxUnseen)
	}
	_, spans := c.Take(20000)
	if len(spans) != maxUnseen || spans[maxUnseen-1].End != 10*(10*maxUnseen-1)+1 {
		t.Errorf("%d spans, the last %v: want %d, of which the last reaches to the end", len(spans), spans[len(spans)-1], maxUnseen)
	}
}

// TestCoverageCountsOnce: time in which two losses overlap is unseen once.
func TestCoverageCountsOnce(t *testing.T) {
	var c Tracker
	c.Attach(0, 1000)
	c.Saw(2100)
	for _, s := range []stall.Span{{Start: 1100, End: 1300}, {Start: 1500, End: 1600}, {Start: 1200, End: 1550}, {Start: 1200, End: 1250}, {Start: 900, End: 1050}} {
		c.Miss(s)
	}
	if got, want := c.Unseen, 550*time.Nanosecond; got != want {
		t.Errorf("unseen: got %v, want %v", got, want)
	}
	if got, want := c.Fraction(), 0.5; got != want {
		t.Errorf("covered: got %v, want %v", got, want)
	}
}
