package stall

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func pause(start, end Instant) Interval {
	return Interval{Start: start, End: end, Cause: GCPause, Origin: GCWatch}
}

func ExampleLog() {
	l := NewLog(GCWatch, 1024, 64)
	l.Begin(1000)
	l.Add(Interval{Start: 1200, End: 1300, Cause: GCPause})
	l.MarkUnseen(Span{1500, 1600})
	l.Advance(2000)

	request := Span{1250, 2250}
	for _, v := range l.Intervals(nil, request) {
		fmt.Println(v.Cause, v.Start, v.End)
	}
	fmt.Println(l.Seen(nil, request))
	fmt.Println(l.Coverage(request))
	// Output:
	// gc.pause 1200 1300
	// [{1250 1500} {1600 2000}]
	// 0.65
}

func TestLogBeginsWhereItWasTold(t *testing.T) {
	all := Span{1, 1000}
	for _, c := range []struct {
		name string
		do   func(*Log)
		want []Span
	}{
		{"never", func(l *Log) { l.Add(pause(10, 20)) }, nil},
		{"begin", func(l *Log) { l.Begin(100); l.Advance(200) }, []Span{{100, 200}}},
		{"no begin: from the first advance", func(l *Log) { l.Advance(100); l.Advance(200) }, []Span{{100, 200}}},
		{"zero is not known", func(l *Log) { l.Advance(0); l.Advance(100); l.Advance(0); l.Advance(200) }, []Span{{100, 200}}},
		{"never back", func(l *Log) { l.Begin(100); l.Advance(200); l.Advance(150) }, []Span{{100, 200}}},
		{"begin again", func(l *Log) { l.Begin(100); l.Advance(200); l.Begin(300); l.Advance(400) }, []Span{{100, 200}, {300, 400}}},
		{"begin again in the past", func(l *Log) { l.Begin(100); l.Advance(200); l.Begin(50) }, []Span{{100, 200}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := NewLog(GCWatch, 4, 4)
			c.do(l)
			if diff := cmp.Diff(c.want, l.Seen(nil, all)); diff != "" {
				t.Errorf("Seen (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLogKeepsOrderOfLateIntervals(t *testing.T) {
	l := NewLog(GCWatch, 8, 1)
	for _, at := range []Instant{100, 300, 200, 400, 50} {
		l.Add(pause(at, at+10))
	}
	var got []Instant
	for _, v := range l.Intervals(nil, Span{0, 1000}) {
		got = append(got, v.Start)
	}
	if diff := cmp.Diff([]Instant{50, 100, 200, 300, 400}, got); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

func TestLogForgetsTheOldestAndSaysSo(t *testing.T) {
	l := NewLog(GCWatch, 2, 1)
	l.Begin(50)
	l.Advance(1000)
	l.Add(pause(100, 110))
	l.Add(pause(200, 210))
	if got := l.Coverage(Span{50, 1000}); got != 1 {
		t.Errorf("coverage with all kept: got %v, want 1", got)
	}
	if got := l.Floor(); got != 50 {
		t.Errorf("floor with all kept: got %d, want 50", got)
	}
	l.Add(pause(300, 310)) // the first goes
	if diff := cmp.Diff([]Span{{110, 1000}}, l.Seen(nil, Span{0, 2000})); diff != "" {
		t.Errorf("Seen after an eviction (-want +got):\n%s", diff)
	}
	if n, d := l.Dropped(); n != 0 || d != 0 {
		t.Errorf("Dropped after an eviction: got %d, %v, want none", n, d)
	}
	l.Add(pause(150, 180)) // older than all that are kept
	if diff := cmp.Diff([]Span{{180, 1000}}, l.Seen(nil, Span{0, 2000})); diff != "" {
		t.Errorf("Seen after a drop (-want +got):\n%s", diff)
	}
	if got := l.Floor(); got != 180 {
		t.Errorf("floor after a drop: got %d, want 180", got)
	}
	if n, d := l.Dropped(); n != 1 || d != 30 {
		t.Errorf("Dropped: got %d, %v, want 1, 30ns", n, d)
	}
	if got := len(l.Intervals(nil, Span{0, 2000})); got != 2 {
		t.Errorf("intervals kept: got %d, want 2", got)
	}
}

func TestLogFindsIntervalsWithinTheirSlack(t *testing.T) {
	l := NewLog(GCWatch, 4, 1)
	v := pause(100, 110)
	v.Slack = 20
	l.Add(v)
	l.Add(pause(500, 510))
	for _, c := range []struct {
		span Span
		want int
	}{
		{Span{0, 80}, 0}, {Span{0, 81}, 1}, {Span{105, 106}, 1}, {Span{129, 200}, 1}, {Span{130, 200}, 0},
		{Span{0, 500}, 1}, {Span{0, 501}, 2}, {Span{105, 105}, 0}, {Span{106, 105}, 0},
		{Span{math.MinInt64, math.MaxInt64}, 2},
	} {
		if got := len(l.Intervals(nil, c.span)); got != c.want {
			t.Errorf("Intervals(%v): got %d, want %d", c.span, got, c.want)
		}
	}
}

func TestLogNeverForgetsUnseenTime(t *testing.T) {
	l := NewLog(GoTrace, 1, 2)
	l.Begin(1)
	l.Advance(1000)
	l.MarkUnseen(Span{100, 200})
	l.MarkUnseen(Span{500, 600})
	l.MarkUnseen(Span{250, 300}) // one too many: nearest to the first
	if diff := cmp.Diff([]Span{{1, 100}, {300, 500}, {600, 1000}}, l.Seen(nil, Span{0, 2000})); diff != "" {
		t.Errorf("Seen (-want +got):\n%s", diff)
	}
	l.MarkUnseen(Span{300, 500}) // touches both
	if diff := cmp.Diff([]Span{{1, 100}, {600, 1000}}, l.Seen(nil, Span{0, 2000})); diff != "" {
		t.Errorf("Seen (-want +got):\n%s", diff)
	}
}

func TestLogSurvivesExtremes(t *testing.T) {
	l := NewLog(NoOrigin, -1, -1)
	l.Begin(math.MinInt64)
	l.Advance(math.MaxInt64)
	if got := l.Coverage(Span{math.MinInt64, math.MaxInt64}); got != 1 {
		t.Errorf("coverage of all time: got %v, want 1", got)
	}
	v := Interval{Start: math.MinInt64 + 1, End: math.MaxInt64, Slack: math.MaxInt64}
	l.Add(v)
	l.Add(Interval{Start: 5, End: 5})
	l.Add(Interval{Start: 9, End: 5})
	for range 2 {
		v.Start = math.MinInt64
		l.Add(v)
	}
	if n, d := l.Dropped(); n != 2 || d != math.MaxInt64 {
		t.Errorf("Dropped: got %d, %v, want 2 and the greatest duration", n, d)
	}
	if got := l.Seen(nil, Span{math.MinInt64, math.MaxInt64}); got != nil {
		t.Errorf("Seen with the floor at the end of time: got %v", got)
	}
}

func TestLogDoesNotAllocate(t *testing.T) {
	l := NewLog(GoTrace, 16, 4)
	intervals, spans := make([]Interval, 0, 16), make([]Span, 0, 16)
	at := Instant(1)
	got := testing.AllocsPerRun(500, func() {
		at += 100
		l.Add(pause(at, at+10))
		l.Add(pause(at-150, at-140))
		l.MarkUnseen(Span{at + 20, at + 30})
		l.Advance(at + 90)
		intervals = l.Intervals(intervals[:0], Span{at - 500, at + 100})
		spans = l.Seen(spans[:0], Span{at - 500, at + 100})
		l.Coverage(Span{at - 500, at + 100})
	})
	if got != 0 {
		t.Errorf("allocations: got %v, want 0", got)
	}
}

// TestLogOneWriterManyReaders is for the race detector; besides, a reader must
// find every interval before the watermark that it read, also while the log grows.
func TestLogOneWriterManyReaders(t *testing.T) {
	const rounds = 2000
	l := NewLog(GoTrace, 1, 8)
	l.Begin(1)
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			var list []Interval
			for seen := Instant(1); seen < rounds*10; {
				seen = l.Watermark()
				list = l.Intervals(list[:0], Span{0, seen})
				if want := int(seen) / 10; len(list) < want {
					t.Errorf("before watermark %d: got %d intervals, want %d", seen, len(list), want)
					return
				}
				l.Coverage(Span{1, seen})
				l.Dropped()
				time.Sleep(time.Microsecond)
			}
		})
	}
	for at := Instant(0); at < rounds*10; at += 10 {
		if n, room := l.Size(); n == room {
			l.Resize(2 * room)
		}
		l.Add(pause(at+1, at+5))
		l.Forget(at / 1e9) // nothing
		l.MarkUnseen(Span{at + 7, at + 8})
		l.Advance(at + 10)
	}
	readers.Wait()
}
