package gcwatch

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const us = time.Microsecond

// story makes readings of a made-up run, in which the test knows whose each
// stop is.
type story struct {
	edges []Bucket
	r     reading
}

func newStory(t *testing.T) *story {
	r, err := newReader(newClock(t))
	if err != nil {
		t.Fatal(err)
	}
	s := &story{edges: r.edges()}
	s.r.gcTotal.set(make([]uint64, len(s.edges)))
	s.r.gcStopping.set(make([]uint64, len(s.edges)))
	s.r.coherent, s.r.gcSettled, s.r.otherSettled = true, true, true
	s.tick(time.Millisecond)
	return s
}

func (s *story) tick(d time.Duration) {
	s.r.begin = s.r.begin.Add(d)
	s.r.end = s.r.begin.Add(10 * us)
}

// stops records stops for the collector that took these times.
func (s *story) stops(ds ...time.Duration) *story {
	for _, d := range ds {
		for i, e := range s.edges {
			if e.Low <= d && d < e.High {
				s.r.gcTotal.of[i]++
				s.r.gcStopping.of[i]++
				break
			}
		}
		s.r.gcTotal.total++
		s.r.gcStopping.total++
	}
	return s
}

// cycle ends a cycle whose stops, told before, sum to d.
func (s *story) cycle(d time.Duration) *story {
	s.r.cycles++
	s.r.pauseTotal += d
	return s
}

func (s *story) reading() *reading {
	var r reading
	s.r.copyTo(&r)
	return &r
}

func TestLedger(t *testing.T) {
	for _, tt := range []struct {
		name string
		tell func(*story)
		want verdict
	}{
		{"nothing", func(*story) {}, balanced},
		{"one cycle", func(s *story) { s.stops(10*us, 30*us).cycle(40 * us) }, balanced},
		{"a cycle in progress", func(s *story) { s.stops(10 * us) }, pending},
		{"a cycle, and one in progress", func(s *story) { s.stops(10*us, 30*us).cycle(40 * us).stops(20 * us) }, pending},
		{"a cycle with a retry", func(s *story) { s.stops(10*us, 30*us, 20*us).cycle(60 * us) }, balanced},
		{"a retry too short to tell", func(s *story) { s.stops(100*us, 100*us, 1*us).cycle(201 * us) }, pending},
		{"a stop before the base", func(s *story) { s.stops(30 * us).cycle(40 * us) }, balanced},
		{"a sum that no stops explain", func(s *story) { s.stops(30*us, 10*us).cycle(400 * us) }, untenable},
		{"open for too long", func(s *story) {
			for range maxUnresolved {
				s.stops(100*us, 100*us).cycle(200 * us)
			}
			s.stops(1 * us)
		}, untenable},
		{"a reading that a cycle ended in", func(s *story) { s.r.coherent = false }, pending},
		{"a stop without its length", func(s *story) { s.r.gcSettled = false }, pending},
	} {
		s := newStory(t)
		l := ledger{edges: s.edges}
		base := s.reading()
		l.rebase(base, true)
		s.tick(time.Millisecond)
		tt.tell(s)
		if got := l.judge(s.reading(), base); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
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
		w.notice.reset()
		v := w.ledger.judge(w.cur, w.prev)
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
	if got := read(maxHold, 0); got != clean || len(w.notice.Unseen) != 0 {
		t.Errorf("after the longest hold: watermark %d, unseen %v", got, w.notice.Unseen)
	}
	got := read(time.Millisecond, 0)
	if want := (stall.Span{Start: clean, End: sawEnd}); got != w.cur.begin || len(w.notice.Unseen) != 1 || w.notice.Unseen[0] != want {
		t.Errorf("beyond it: watermark %d, unseen %v, want %d and %v", got, w.notice.Unseen, w.cur.begin, want)
	}
	if got := read(time.Millisecond, 0); got != w.cur.begin || len(w.notice.Unseen) != 0 {
		t.Errorf("later: watermark %d, unseen %v", got, w.notice.Unseen)
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
}

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

func TestEdges(t *testing.T) {
	s := newStory(t)
	for i, e := range s.edges {
		if e.Low > e.High || e.Middle < 0 || time.Duration(e.Middle*1e9) > e.High || i > 0 && e.Low != s.edges[i-1].High {
			t.Errorf("bucket %d: %+v", i, e)
		}
	}
	if last := s.edges[len(s.edges)-1]; last.High != maxDuration || last.Middle <= 0 {
		t.Errorf("last bucket: %+v", last)
	}
}

func TestKindOf(t *testing.T) {
	for env, want := range map[string]gc.Kind{
		"":                                     gc.Background,
		"gctrace=1":                            gc.Background,
		"gcstoptheworld=1":                     gc.FullBlocking,
		"gctrace=1,gcstoptheworld=2":           gc.FullBlocking,
		"gcstoptheworld=2,gcstoptheworld=0":    gc.Background,
		"gcstoptheworldly=1,xgcstoptheworld=1": gc.Background,
	} {
		if got := KindOf(env); got != want {
			t.Errorf("%q: got %v, want %v", env, got, want)
		}
	}
}
