package gouprobe

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// far is later than all records of the tests.
const far = stall.Instant(1 << 40)

// takeAll makes batches of records, as few as there can be.
func (s *stops) takeAll(records ...record) (epochs []uint64, intervals []stall.Interval, collections []gc.Collection) {
	for len(records) > 0 {
		s.reset()
		n := 0
		for n < len(records) && s.take(&records[n], far) {
			n++
		}
		records = records[n:]
		epochs = append(epochs, s.batch.Epoch)
		intervals = append(intervals, s.batch.Intervals...)
		collections = append(collections, s.batch.Collections...)
	}
	return epochs, intervals, collections
}

func sweep(start, end int64) record {
	return record{reason: sweepTermination, start: start, finished: start + 1, end: end}
}

func mark(start, end int64) record {
	return record{now: end, reason: markTermination, start: start, finished: start + 2, end: end}
}

func retry(start, end int64) record {
	return record{reason: markTermination, start: start, finished: start + 3, end: end}
}

func after(lost uint64, r record) record { r.lost = lost; return r }

func TestCollections(t *testing.T) {
	pause := func(start, end stall.Instant, phase gc.Phase, suspend time.Duration) gc.Pause {
		return gc.Pause{Start: start, End: end, EndMax: end, Phase: phase, Suspend: gc.Known(suspend)}
	}
	collection := func(index uint64, why string, start, end stall.Instant, pauses ...gc.Pause) gc.Collection {
		c := gc.Collection{
			Index: index, Cycles: 1, Kind: gc.Background, Trigger: gc.TriggerUnknown, Origin: stall.GoUprobe, Fidelity: stall.Exact,
			Pauses: pauses, Incomplete: why,
		}
		if start != 0 {
			c.Start = gc.Known(start)
		}
		if end != 0 {
			c.End = gc.Known(end)
		}
		return c
	}
	const s, m = gc.SweepTermination, gc.MarkTermination
	for _, test := range []struct {
		name    string
		records []record
		epochs  []uint64
		want    []gc.Collection
	}{
		{"two", []record{sweep(10, 20), mark(30, 40), sweep(50, 60), mark(70, 80)}, []uint64{7}, []gc.Collection{
			collection(1, "", 10, 40, pause(10, 20, s, 1), pause(30, 40, m, 2)),
			collection(2, "", 50, 80, pause(50, 60, s, 1), pause(70, 80, m, 2)),
		}},
		{"mark termination tried again", []record{sweep(10, 20), retry(30, 40), mark(50, 60)}, []uint64{7}, []gc.Collection{
			collection(1, "", 10, 60, pause(10, 20, s, 1), pause(30, 40, m, 3), pause(50, 60, m, 2)),
		}},
		{"attached while it ran", []record{retry(20, 25), mark(30, 40), sweep(50, 60), mark(70, 80)}, []uint64{7}, []gc.Collection{
			collection(1, "its begin was not seen", 0, 40, pause(20, 25, m, 3), pause(30, 40, m, 2)),
			collection(2, "", 50, 80, pause(50, 60, s, 1), pause(70, 80, m, 2)),
		}},
		{"its end was missed", []record{sweep(10, 20), sweep(50, 60), mark(70, 80)}, []uint64{7}, []gc.Collection{
			collection(1, "its end was not seen", 10, 0, pause(10, 20, s, 1)),
			collection(2, "", 50, 80, pause(50, 60, s, 1), pause(70, 80, m, 2)),
		}},
		{"records were lost", []record{sweep(10, 20), after(3, mark(70, 80)), after(3, sweep(90, 95)), after(3, mark(96, 99))}, []uint64{7, 8}, []gc.Collection{
			collection(1, "records were lost after it", 10, 0, pause(10, 20, s, 1)),
			collection(1, "its begin was not seen", 0, 80, pause(70, 80, m, 2)),
			collection(2, "", 90, 99, pause(90, 95, s, 1), pause(96, 99, m, 2)),
		}},
		{"records were lost in the midst of a collection", []record{sweep(10, 20), after(1, sweep(90, 95)), after(1, mark(96, 99))}, []uint64{7, 8}, []gc.Collection{
			collection(1, "records were lost after it", 10, 0, pause(10, 20, s, 1)),
			collection(1, "", 90, 99, pause(90, 95, s, 1), pause(96, 99, m, 2)),
		}},
		{"records were lost at first", []record{after(1, sweep(10, 20)), after(1, mark(30, 40))}, []uint64{8}, []gc.Collection{
			collection(1, "", 10, 40, pause(10, 20, s, 1), pause(30, 40, m, 2)),
		}},
		{"another stop between", []record{sweep(10, 20), {reason: 7, start: 21, finished: 22, end: 23}, mark(30, 40)}, []uint64{7}, []gc.Collection{
			collection(1, "", 10, 40, pause(10, 20, s, 1), pause(30, 40, m, 2)),
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := stops{release: release{stopping: true}, kind: gc.Background, epoch: 7}
			epochs, intervals, got := s.takeAll(test.records...)
			if diff := cmp.Diff(test.want, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
				t.Errorf("collections (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.epochs, epochs); diff != "" {
				t.Errorf("epochs (-want +got):\n%s", diff)
			}
			if len(intervals) != len(test.records) {
				t.Errorf("%d intervals of %d records", len(intervals), len(test.records))
			}
		})
	}
}

func TestIntervals(t *testing.T) {
	s := stops{release: release{stopping: true}, kind: gc.Background, local: -100}
	_, got, _ := s.takeAll(
		sweep(10, 20), record{reason: 7, start: 21, end: 23}, record{reason: 0xffffff07, start: 24, end: 25}, mark(30, 40), record{reason: 200, start: 50, end: 60},
	)
	interval := func(start, end stall.Instant, cause stall.Cause, ref uint64) stall.Interval {
		return stall.Interval{Start: start, End: end, Cause: cause, Origin: stall.GoUprobe, CPU: -1, Ref: ref}
	}
	want := []stall.Interval{
		interval(110, 120, stall.GCPause, 1), interval(121, 123, stall.RuntimeSuspension, 0), interval(124, 125, stall.RuntimeSuspension, 0),
		interval(130, 140, stall.GCPause, 1), interval(150, 160, stall.RuntimeSuspension, 0),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("intervals (-want +got):\n%s", diff)
	}
	reasons := []string{"GC sweep termination", "read mem stats", "read mem stats", "GC mark termination", "reason 200"}
	if diff := cmp.Diff(reasons, s.evidence); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

// TestImpossibleRecords: the process writes its own memory, and may write what it likes.
func TestImpossibleRecords(t *testing.T) {
	s := stops{release: release{stopping: true}}
	_, intervals, collections := s.takeAll(
		sweep(20, 10), sweep(-5, 10), sweep(10, int64(far)+1), sweep(-1<<63, 1<<62), mark(1<<62, 1<<63-1),
	)
	if len(intervals)+len(collections) > 0 || s.wrong != 5 {
		t.Errorf("got %v, %v, and %d of 5 refused", intervals, collections, s.wrong)
	}
	_, _, collections = s.takeAll(record{reason: sweepTermination, start: 10, finished: 30, end: 20}, mark(30, 40))
	if _, known := collections[0].Pauses[0].Suspend.Get(); known {
		t.Errorf("goroutines were stopped after the stop: %+v", collections[0])
	}
}

// TestManyRetries: a collection keeps a bounded number of pauses.
func TestManyRetries(t *testing.T) {
	records := []record{sweep(1, 2)}
	for at := int64(10); at < 10_000; at += 10 {
		records = append(records, retry(at, at+5))
	}
	s := stops{}
	_, intervals, collections := s.takeAll(append(records, mark(10_000, 10_005))...)
	if len(intervals) != 1001 || len(collections) != 1 || len(collections[0].Pauses) != maxPauses || !strings.Contains(collections[0].Incomplete, "too many") {
		t.Errorf("%d intervals, %d collections, the first: %+v", len(intervals), len(collections), collections)
	}
}
