package gcwatch

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestSplitHoldsTheTruth checks that the slack of both pauses covers every
// place where they can have been.
func TestSplitHoldsTheTruth(t *testing.T) {
	s := newStory(t)
	bucket := func(d time.Duration) Bucket {
		for _, e := range s.edges {
			if e.Low <= d && d < e.High {
				return e
			}
		}
		panic("no bucket")
	}
	const after, end = stall.Instant(1e9), stall.Instant(1e9 + 5e6)
	for _, d := range [][2]time.Duration{{10 * us, 30 * us}, {30 * us, 10 * us}, {20 * us, 21 * us}, {0, 50 * us}, {3 * us, 4000 * us}} {
		sweep, mark := d[0], d[1]
		for _, at := range []stall.Instant{after, after + 400_000, end.Add(-mark - sweep)} {
			for _, first := range []*stall.Span{nil, {Start: max(after, at-1000), End: at.Add(sweep) + 1000}} {
				c := cycleEnd{sum: sweep + mark, end: end, after: after, before: end + 1000}
				list, ok := c.split(bucket(sweep), bucket(mark), first, nil)
				if !ok || len(list) != 2 {
					t.Fatalf("%v: got %v, %v", d, list, ok)
				}
				covers(t, list[0], gc.SweepTermination, stall.Span{Start: at, End: at.Add(sweep)})
				covers(t, list[1], gc.MarkTermination, stall.Span{Start: end.Add(-mark), End: end})
				if got := list[0].Duration() + list[1].Duration(); got != c.sum {
					t.Errorf("%v: sum %v, want %v", d, got, c.sum)
				}
			}
		}
	}
}

// covers checks that truth lies in what p says is possible, and holds what p
// says is certain.
func covers(t *testing.T, p gc.Pause, phase gc.Phase, truth stall.Span) {
	t.Helper()
	if p.Phase != phase {
		t.Errorf("phase: got %v, want %v", p.Phase, phase)
	}
	if p.Start.Add(-p.Slack) > truth.Start || p.End.Add(p.Slack) < truth.End || p.EndMax < truth.End {
		t.Errorf("%v: %+v does not reach over %v", phase, p, truth)
	}
	if s, e := p.Start.Add(p.Slack), p.End.Add(-p.Slack); s < e && (s < truth.Start || e > truth.End) {
		t.Errorf("%v: %+v claims more than %v", phase, p, truth)
	}
}

func TestSplitRefusesWhatCannotBe(t *testing.T) {
	c := cycleEnd{sum: time.Millisecond, end: 1e9}
	b := Bucket{Low: 10 * us, High: 12 * us}
	if list, ok := c.split(b, b, nil, nil); ok {
		t.Errorf("got %v", list)
	}
}

func TestWholeIsNowhereCertain(t *testing.T) {
	c := cycleEnd{sum: 50 * us, end: 1e9, after: 1e9 - 60_000, before: 1e9 + 100}
	p := c.whole(nil)[0]
	if p.Start.Add(p.Slack) < p.End.Add(-p.Slack) || p.Start.Add(-p.Slack) > c.after {
		t.Errorf("got %+v", p)
	}
}
