package target

import (
	"testing"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// TestAwait: the watermark must not pass a pause whose collection is still to come.
func TestAwait(t *testing.T) {
	pause := func(start stall.Instant, ref uint64) stall.Interval {
		return stall.Interval{Start: start, End: start + 1, Cause: stall.GCPause, Ref: ref}
	}
	other := stall.Interval{Start: 5, End: 6, Cause: stall.RuntimeSuspension}
	type batch struct {
		intervals []stall.Interval
		ended     []uint64
		want      stall.Instant
	}
	for name, batches := range map[string][]batch{
		"none":             {{[]stall.Interval{other}, nil, 0}},
		"in one batch":     {{[]stall.Interval{pause(10, 1), pause(20, 1)}, []uint64{1}, 0}},
		"over two":         {{[]stall.Interval{other, pause(10, 1)}, nil, 10}, {[]stall.Interval{pause(20, 1)}, []uint64{1}, 0}},
		"nothing between":  {{[]stall.Interval{pause(10, 1)}, nil, 10}, {nil, nil, 10}, {[]stall.Interval{pause(20, 1)}, []uint64{1}, 0}},
		"the next begins":  {{[]stall.Interval{pause(10, 1), pause(20, 1), pause(30, 2)}, []uint64{1}, 30}, {[]stall.Interval{pause(40, 2)}, []uint64{2}, 0}},
		"and the third":    {{[]stall.Interval{pause(10, 1)}, nil, 10}, {[]stall.Interval{pause(20, 1), pause(30, 2), pause(40, 2), pause(50, 3)}, []uint64{1, 2}, 50}},
		"a retry in three": {{[]stall.Interval{pause(10, 1)}, nil, 10}, {[]stall.Interval{pause(20, 1)}, nil, 10}, {[]stall.Interval{pause(30, 1), pause(40, 2)}, []uint64{1}, 40}},
	} {
		t.Run(name, func(t *testing.T) {
			var v goView
			for i, b := range batches {
				told := source.Batch{Intervals: b.intervals}
				for _, n := range b.ended {
					told.Collections = append(told.Collections, gc.Collection{Index: n})
				}
				if v.await(&told); v.open != b.want {
					t.Errorf("batch %d: waits since %d, want %d", i, v.open, b.want)
				}
			}
		})
	}
	v := goView{traced: true, pending: []stall.Interval{pause(30, 2)}}
	if v.await(&source.Batch{Collections: []gc.Collection{{}}}); v.open != 30 {
		t.Errorf("of a trace: waits since %d, want 30", v.open)
	}
}
