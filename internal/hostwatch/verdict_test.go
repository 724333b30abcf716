package hostwatch

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/stall"
)

// TestPageWaitAcrossBatches: a fault counts when it is over, in the second
// batch. What the first one saw of the wait must not pass for the program's own.
func TestPageWaitAcrossBatches(t *testing.T) {
	l := newTimeline(3, 10*time.Microsecond)
	l.put(1, blocked, 0)
	l.put(2, blocked, 0)
	var v verdict
	for _, b := range []struct {
		all            stall.Span
		events         []event
		disk           bool
		paged, covered []stall.Span
	}{
		{
			all: span(0, 1000),
			events: []event{
				on(100, 2, in, 0), on(200, 2, out, uninterruptible), on(300, 2, woken, 0), on(300, 2, in, 0), on(400, 2, out, 1),
				on(700, 1, in, 0), on(800, 1, out, uninterruptible),
			},
			covered: []stall.Span{span(0, 800)},
		},
		{all: span(1000, 2000)},
		{
			all: span(2000, 3000), disk: true,
			events:  []event{on(2500, 1, woken, 0), on(2500, 1, in, 0), on(2600, 1, out, 1)},
			paged:   []stall.Span{span(2000, 2500)},
			covered: []stall.Span{span(2000, 3000)},
		},
		{all: span(3000, 4000), covered: []stall.Span{span(3000, 4000)}},
	} {
		for _, e := range b.events {
			l.take(e)
		}
		l.end(b.all.End)
		v.judge(l, b.all, false, b.disk)
		l.begin()
		if diff := cmp.Diff(b.paged, v.paged, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("paged in %v (-want +got):\n%s", b.all, diff)
		}
		if diff := cmp.Diff(b.covered, v.covered, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("covered in %v (-want +got):\n%s", b.all, diff)
		}
	}
}

func TestMoreIntervalsThanABatchHolds(t *testing.T) {
	for _, test := range []struct {
		name          string
		denied, paged int
		covered       bool
	}{
		{name: "as many as there may be", denied: maxPieces / 2, paged: maxPieces / 2, covered: true},
		{name: "waits for a CPU", denied: maxPieces + 10},
		{name: "waits for pages", paged: maxPieces + 44},
		{name: "both", denied: maxPieces/2 + 1, paged: maxPieces / 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newTimeline(3, 0)
			for i := range test.denied {
				l.waits = append(l.waits, span(200*i, 200*i+10+i%2))
			}
			for i := range test.paged {
				l.disks = append(l.disks, span(200*i+100, 200*i+110+i%2))
			}
			var v verdict
			v.judge(l, span(0, 1<<20), false, true)
			if len(v.denied) != test.denied || len(v.paged) != test.paged {
				t.Errorf("%d denied and %d paged, want %d and %d", len(v.denied), len(v.paged), test.denied, test.paged)
			}
			if got := len(v.covered) > 0; got != test.covered {
				t.Errorf("covered: %d spans, want some: %v", len(v.covered), test.covered)
			}
			for _, spans := range [][]stall.Span{v.denied, v.paged} {
				want := min(len(spans), maxPieces)
				got := longest(spans)
				if len(got) != want {
					t.Errorf("kept %d, want %d", len(got), want)
				}
				for i := 1; i < len(got); i++ {
					if got[i].Start <= got[i-1].Start {
						t.Fatalf("interval %d is out of order", i)
					}
				}
			}
		})
	}
}
