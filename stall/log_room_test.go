package stall

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Who keeps the logs of many lets them begin small, and gives them room while
// there is some.
func ExampleLog_Resize() {
	l := NewLog(GCWatch, 1, 64)
	l.Begin(1)
	l.Advance(10_000)
	for at := Instant(1000); at <= 6000; at += 1000 {
		if kept, room := l.Size(); kept == room && room < 4 {
			l.Resize(2 * room)
		}
		l.Add(Interval{Start: at, End: at + 100, Cause: GCPause})
	}
	fmt.Println(l.Size())
	fmt.Println(l.Seen(nil, Span{1, 10_000})) // two had to go
	l.Forget(4500)
	fmt.Println(l.Size())
	fmt.Println(l.Seen(nil, Span{1, 10_000}))
	// Output:
	// 4 4
	// [{2100 10000}]
	// 2 4
	// [{4100 10000}]
}

func starts(l *Log) (list []Instant) {
	for _, v := range l.Intervals(nil, Span{math.MinInt64, math.MaxInt64}) {
		list = append(list, v.Start)
	}
	return list
}

func TestLogGrowsWithoutForgetting(t *testing.T) {
	l := NewLog(GCWatch, 1, 1)
	l.Begin(1)
	l.Advance(2000)
	var want []Instant
	for at := Instant(100); at <= 1000; at += 100 {
		if kept, room := l.Size(); kept == room {
			l.Resize(2 * room)
		}
		l.Add(pause(at, at+10))
		want = append(want, at)
	}
	if diff := cmp.Diff(want, starts(l)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	if kept, room := l.Size(); kept != 10 || room != 16 {
		t.Errorf("Size: got %d of %d, want 10 of 16", kept, room)
	}
	if got := l.Coverage(Span{1, 2000}); got != 1 {
		t.Errorf("coverage: got %v, want 1, as nothing was forgotten", got)
	}
}

func TestLogForgetsWhatIsNotWanted(t *testing.T) {
	l := NewLog(GCWatch, 8, 1)
	l.Begin(1)
	l.Advance(1000)
	slack := pause(100, 110)
	slack.Slack = 5
	for _, v := range []Interval{slack, pause(200, 300), pause(220, 230), pause(400, 410)} {
		l.Add(v)
	}
	for _, c := range []struct {
		before, floor Instant
		want          []Instant
	}{
		{math.MinInt64, 1, []Instant{100, 200, 220, 400}},
		{114, 1, []Instant{100, 200, 220, 400}}, // it may reach to 115
		{115, 115, []Instant{200, 220, 400}},
		{250, 115, []Instant{200, 220, 400}}, // behind one that lasts
		{300, 300, []Instant{400}},
		{math.MaxInt64, 410, nil},
		{math.MaxInt64, 410, nil},
	} {
		l.Forget(c.before)
		if diff := cmp.Diff(c.want, starts(l)); diff != "" {
			t.Errorf("starts after Forget(%d) (-want +got):\n%s", c.before, diff)
		}
		if got := l.Floor(); got != c.floor {
			t.Errorf("floor after Forget(%d): got %d, want %d", c.before, got, c.floor)
		}
	}
	if n, d := l.Dropped(); n != 0 || d != 0 {
		t.Errorf("Dropped: got %d, %v, want none", n, d)
	}
}

func TestLogShrinksFromTheOldest(t *testing.T) {
	l := NewLog(GCWatch, 8, 1)
	l.Begin(1)
	l.Advance(1000)
	for at := Instant(10); at <= 100; at += 10 { // it wraps
		l.Add(pause(at, at+5))
	}
	l.Resize(2)
	if diff := cmp.Diff([]Instant{90, 100}, starts(l)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
	if got := l.Floor(); got != 85 {
		t.Errorf("floor: got %d, want 85, the end of the last that went", got)
	}
	l.Resize(-1)
	if kept, room := l.Size(); kept != 1 || room != 1 {
		t.Errorf("Size: got %d of %d, want 1 of 1", kept, room)
	}
}
