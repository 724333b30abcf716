package report

import (
	"bytes"
	"context"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// TestRequestsOfATrace marks requests as package otelgc does, half of which
// force a collection while there are no others.
func TestRequestsOfATrace(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC()
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Skipf("skipped: tracing cannot start: %v", err)
	}
	const n = 60
	ctx := context.Background()
	for i := range n {
		trace.Log(ctx, gotrace.WindowBegin.Key(7), "")
		if i%2 == 0 {
			runtime.GC()
		}
		trace.Log(ctx, gotrace.WindowEnd.Key(7), "")
	}
	trace.Log(ctx, gotrace.WindowBegin.Key(8), "") // it does not end in the trace
	trace.Stop()

	r, err := Read("requests", &out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Summary.Requests) != 3 {
		t.Fatalf("rows %+v, want all, to p50 and above p50", r.Summary.Requests)
	}
	all, fast, slow := r.Summary.Requests[0], r.Summary.Requests[1], r.Summary.Requests[2]
	if all.Count != n || all.Hit != n/2 || all.GC <= 0 || all.GC > all.HitTime || all.HitTime > all.Time {
		t.Errorf("all requests: %+v, want %d of which %d were hit", all, n, n/2)
	}
	if fast.Title != "to p50" || slow.Title != "above p50" || fast.Count+slow.Count != n || fast.Hit+slow.Hit != n/2 || slow.Hit < fast.Hit {
		t.Errorf("fast %+v, slow %+v, want halves, and the slow ones hit", fast, slow)
	}
}

func TestRequestsAgainstPauses(t *testing.T) {
	pause := func(start, end stall.Instant) gc.Pause { return gc.Pause{Start: start, End: end, EndMax: end} }
	r := &Report{Collections: []*Collection{
		{number: 1, Collection: gc.Collection{Pauses: []gc.Pause{pause(100, 110), pause(150, 160)}}},
		{number: 2, Collection: gc.Collection{Pauses: []gc.Pause{pause(200, 230)}}},
	}}
	span := func(start, end stall.Instant) stall.Span { return stall.Span{Start: start, End: end} }
	l := requestLog{
		done: []request{
			{Span: span(0, 100), goroutine: 1},   // before
			{Span: span(105, 205), goroutine: 1}, // all three, of two collections
			{Span: span(110, 150), goroutine: 2}, // between the pauses of one
			{Span: span(190, 260), goroutine: 2}, // an assist, of which a part was paused
		},
		ranges: []gotrace.Range{
			{Span: span(195, 215), Goroutine: 2},
		},
	}
	got := l.settle(r)
	want := []request{
		{Span: span(110, 150), goroutine: 2},
		{Span: span(190, 260), goroutine: 2, gc: 35, collections: 1},
		{Span: span(0, 100), goroutine: 1},
		{Span: span(105, 205), goroutine: 1, gc: 20, collections: 2},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	row := latencyOf("all", got)
	if diff := cmp.Diff(Latency{Title: "all", UpTo: 100, Count: 4, Hit: 2, Several: 1, Time: 310, HitTime: 170, GC: 55}, row); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
}

func TestLatencies(t *testing.T) {
	for n, want := range map[int][]string{
		0:      nil,
		19:     {"all"},
		20:     {"all", "to p50", "above p50"},
		100:    {"all", "to p50", "p50-p90", "above p90"},
		9_999:  {"all", "to p50", "p50-p90", "p90-p99", "above p99"},
		10_000: {"all", "to p50", "p50-p90", "p90-p99", "p99-p99.9", "above p99.9"},
	} {
		list := make([]request, n)
		for i := range list {
			list[i].End = stall.Instant(i)
		}
		var got []string
		sum := 0
		for i, l := range latenciesOf(list) {
			got = append(got, l.Title)
			if i > 0 {
				sum += l.Count
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%d requests (-want +got):\n%s", n, diff)
		}
		if len(got) > 1 && sum != n {
			t.Errorf("%d requests: the ranges hold %d", n, sum)
		}
	}
}
