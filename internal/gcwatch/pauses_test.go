package gcwatch

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// bucketOf returns the runtime's bucket of a pause.
func bucketOf(edges []Bucket, d time.Duration) Bucket {
	for _, e := range edges {
		if e.Low <= d && d < e.High {
			return e
		}
	}
	panic("no bucket")
}

// TestSplitHoldsTheTruth: whatever the two pauses were, and wherever the first of
// them lay, no window is charged with more of them than it had, one that has the
// cycle is charged with the sum, and one around the end with what is certain of the
// last.
func TestSplitHoldsTheTruth(t *testing.T) {
	s := newStory(t)
	random := rand.New(rand.NewPCG(21, 25))
	const after, end = stall.Instant(1e9), stall.Instant(1e9 + 20e6)
	for range 2000 {
		sweep, mark := us<<random.IntN(12)+time.Duration(random.IntN(1000)), us<<random.IntN(12)+time.Duration(random.IntN(1000))
		at := after + stall.Instant(random.Int64N(int64(end-after)-int64(sweep+mark)))
		truth := [2]stall.Span{{Start: at, End: at.Add(sweep)}, {Start: end.Add(-mark), End: end}}
		a, b, seen := bucketOf(s.edges, sweep), bucketOf(s.edges, mark), (*stall.Span)(nil)
		switch random.IntN(3) {
		case 0:
			seen = &stall.Span{Start: max(after, at-1000), End: at.Add(sweep) + 1000}
		case 1:
			a, b = b, a // nobody knows
		}
		c := cycleEnd{sum: sweep + mark, end: end, slack: 300, after: after, before: end + 1000}
		list, ok := c.split(a, b, seen, nil)
		if !ok || len(list) != 2 || list[0].Phase == gc.MarkTermination || list[1].Phase != gc.MarkTermination {
			t.Fatalf("%v and %v: got %+v, %v", sweep, mark, list, ok)
		}
		if got := list[0].Duration() + list[1].Duration(); got != c.sum {
			t.Errorf("%v and %v: sum %v, want %v", sweep, mark, got, c.sum)
		}
		if seen != nil && list[0].Phase != gc.SweepTermination {
			t.Errorf("%v and %v, the first was seen: it is of phase %v", sweep, mark, list[0].Phase)
		}
		if list[0].Phase == gc.SweepTermination && charged(stall.Window{Start: end.Add(-mark), End: end}, list) < mark/2-2*c.slack {
			t.Errorf("%v and %v: %+v are told by phase, and most of the second is not told as it", sweep, mark, list)
		}
		if list[0].EndMax < truth[0].End || list[1].EndMax < truth[1].End {
			t.Errorf("%v and %v: %+v end before they did", sweep, mark, list)
		}
		for range 50 {
			from := after - 1000 + stall.Instant(random.Int64N(int64(end-after)))
			w := stall.Window{Start: from, End: from + stall.Instant(random.Int64N(int64(end-from)+2000))}
			had := time.Duration(0)
			for _, v := range truth {
				had += v.Clip(w.Extent()).Duration()
			}
			if got := charged(w, list); got > had {
				t.Fatalf("%v and %v: a window from %d to %d ns is charged with %v, and had %v", sweep, mark, w.Start-after, w.End-after, got, had)
			}
		}
		if got := charged(stall.Window{Start: after - 1e6, End: end + 1e6}, list); got != c.sum {
			t.Errorf("%v and %v: the whole is charged with %v, want %v", sweep, mark, got, c.sum)
		}
		least := min(sweep, mark)
		if seen != nil {
			least = mark
		}
		least = least*3/4 - 2*c.slack - 2 // no bucket is wider than a quarter
		if got := charged(stall.Window{Start: end.Add(-mark), End: end + 1000}, list); got < least {
			t.Errorf("%v and %v: a window in mark termination is charged with %v, want %v", sweep, mark, got, least)
		}
	}
}

// charged returns what the join charges w with of pauses.
func charged(w stall.Window, list []gc.Pause) time.Duration {
	var e stall.Evidence
	for _, p := range list {
		e.Process = append(e.Process, stall.Interval{Start: p.Start, End: p.End, Slack: p.Slack, Cause: stall.GCPause, Origin: stall.GCWatch})
	}
	slices.SortFunc(e.Process, func(a, b stall.Interval) int { return cmp.Compare(a.Start, b.Start) })
	var s stall.Share
	new(stall.Joiner).Join(&w, &e, &s)
	return s.Charged[stall.GCPause]
}

func TestSplitRefusesWhatCannotBe(t *testing.T) {
	c := cycleEnd{sum: time.Millisecond, end: 1e9}
	b := Bucket{Low: 10 * us, High: 12 * us}
	if list, ok := c.split(b, b, nil, nil); ok {
		t.Errorf("got %v", list)
	}
}

// TestSplitWithNothingCertain: a pause that may have taken no time at all is not
// told of.
func TestSplitWithNothingCertain(t *testing.T) {
	c := cycleEnd{sum: 50 * us, end: 1e9, after: 1e9 - 60_000}
	if list, ok := c.split(Bucket{Low: 0, High: us}, Bucket{Low: 48 * us, High: 56 * us}, nil, nil); ok {
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
