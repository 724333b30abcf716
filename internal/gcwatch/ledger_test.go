package gcwatch

import (
	"testing"
	"time"
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
		want balance
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
		if got := l.update(s.reading(), base); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.name, got, tt.want)
		}
	}
}
