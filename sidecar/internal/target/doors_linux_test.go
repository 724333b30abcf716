package target

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/otelenv/otlptest"
	"github.com/otelgc/otelgc/internal/race"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// TestBothDoors: of a real service a collection that lies in a slice has its number by the
// probes, its trigger and its heap by the trace, and the two agree on every stop.
func TestBothDoors(t *testing.T) {
	needProbes(t)
	if race.Enabled {
		t.Skip("skipped: the race detector makes a slice come too late for the collections to wait for")
	}
	pid, address, _, _ := startTraced(t, buildTraced(t))
	r := newRig(t, Options{Selector: selector(t, strconv.Itoa(pid)), Pprof: "http://" + address})
	r.await("watching a Go process", 1)
	explained := func() (n int) {
		for _, e := range r.events(semconv.EventCollection) {
			if text(e.GetAttributes(), semconv.AttrGCTrigger) == "forced" {
				n++
			}
		}
		return n
	}
	for end := time.Now().Add(3 * time.Minute); explained() == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("no collection was explained:\n%s", r.log)
		}
	}
	s := r.stop()[0]
	if s.Pulled.Disagreements > 0 || s.Doors != Both {
		t.Errorf("%d disagreements, doors %v:\n%s", s.Pulled.Disagreements, s.Doors, r.log)
	}
	last := int64(0)
	for _, e := range r.events(semconv.EventCollection) {
		a := e.GetAttributes()
		if n := integer(e, semconv.AttrGCIndex); n <= last {
			t.Errorf("collection %d comes after %d", n, last)
		} else {
			last = n
		}
		forced := text(a, semconv.AttrGCTrigger) == "forced"
		if heap := otlptest.Attribute(a, semconv.AttrGCHeapBefore) != nil; forced != heap || text(a, semconv.AttrSource) != stall.GoUprobe.String() {
			t.Errorf("collection %d of %s: forced %t, heap known %t", last, text(a, semconv.AttrSource), forced, heap)
		}
	}
}

// pausesAt are pauses of 10 us.
func pausesAt(at ...stall.Instant) (all []gc.Pause) {
	for _, s := range at {
		all = append(all, gc.Pause{Start: s, End: s + 10_000, EndMax: s + 10_000})
	}
	return all
}

// stopsAt are stops of 10 us.
func stopsAt(o stall.Origin, at ...stall.Instant) (all []stall.Interval) {
	for _, s := range at {
		all = append(all, stall.Interval{Start: s, End: s + 10_000, Origin: o})
	}
	return all
}

const ms = stall.Instant(time.Millisecond)

// TestDoors: a slice explains the collections that it has, whatever came when, and the stops
// that one of the two did not see are found.
func TestDoors(t *testing.T) {
	probed := func(mark stall.Instant, stops ...stall.Instant) *source.Batch {
		return &source.Batch{Watermark: mark, Intervals: stopsAt(stall.GoUprobe, stops...)}
	}
	traced := func(stops ...stall.Instant) *source.Batch {
		b := &source.Batch{Watermark: 850 * ms, Unseen: []stall.Span{{Start: 100 * ms, End: 110 * ms}}, Intervals: stopsAt(stall.GoTrace, stops...)}
		b.Collections = []gc.Collection{{Trigger: gc.TriggerForced, Pauses: pausesAt(300*ms, 310*ms), HeapBefore: gc.Known(gc.Bytes(7))}}
		return b
	}
	for _, tt := range []struct {
		name          string
		probed        *source.Batch
		traced        *source.Batch
		over, forced  bool
		disagreements []string
	}{
		{"agree", probed(900*ms, 300*ms+100, 310*ms, 500*ms), traced(300*ms, 310*ms, 500*ms), true, true, nil},
		{"at the edges", probed(900*ms, 105*ms, 110*ms, 300*ms, 310*ms, 850*ms), traced(300*ms, 310*ms), true, true, nil},
		{"not all told", probed(840*ms, 300*ms, 310*ms), traced(300*ms, 310*ms), false, true, nil},
		{"probes lack one", probed(900*ms, 300*ms, 310*ms), traced(300*ms, 310*ms, 500*ms), true, true, []string{"gotrace 500ms"}},
		{"trace lacks one", probed(900*ms, 300*ms, 310*ms, 500*ms), traced(300*ms, 310*ms), true, true, []string{"gouprobe 500ms"}},
		{"trace lacks the collection", probed(900*ms, 300*ms, 310*ms), &source.Batch{Watermark: 850 * ms}, true, false, []string{"gouprobe 300ms", "gouprobe 310ms"}},
		{"slice failed", probed(900*ms, 300*ms, 310*ms), nil, true, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var d bothDoors
			if tt.probed.Collections = []gc.Collection{{Index: 5, Pauses: pausesAt(300*ms+100, 310*ms)}}; d.probed(tt.probed) {
				t.Error("collections wait, and there is no slice")
			}
			d.begin(100 * ms)
			if !d.probed(tt.probed) {
				t.Fatal("collections do not wait")
			}
			d.wait(&tt.probed.Collections[0])
			if tt.traced != nil {
				d.traced(stretch(tt.traced, 100*ms))
			}
			if d.over(100*ms, tt.probed.Watermark, 900*ms) {
				t.Error("a slice that is being taken is over")
			}
			if got := d.over(0, tt.probed.Watermark, 900*ms); got != tt.over {
				t.Errorf("over: %t, want %t", got, tt.over)
			}
			all, differ := d.end()
			if len(all) != 1 || all[0].Index != 5 || (all[0].Trigger == gc.TriggerForced) != tt.forced || (all[0].HeapBefore.Or(0) == 7) != tt.forced {
				t.Errorf("got %+v, want collection 5, explained: %t", all, tt.forced)
			}
			var got []string
			for _, v := range differ {
				got = append(got, fmt.Sprint(v.Origin, " ", time.Duration(v.Start)))
			}
			if diff := cmp.Diff(tt.disagreements, got); diff != "" {
				t.Errorf("disagreements (-want +got):\n%s", diff)
			}
			if d.begun != 0 || d.probed(tt.probed) {
				t.Error("it is not over")
			}
		})
	}
}

// TestDoorsThatAreLate: a slice that takes too long holds nothing, and what is over a limit
// is not compared.
func TestDoorsThatAreLate(t *testing.T) {
	var d bothDoors
	d.begin(1)
	d.told = []tracedStretch{stretch(&source.Batch{Watermark: 850 * ms, Intervals: stopsAt(stall.GoTrace, 500*ms)}, 1)}
	if now := stall.Instant(heldFor); d.over(0, 100*ms, now) || !d.over(0, 100*ms, now+2) {
		t.Error("want that it holds for heldFor, and no longer")
	}
	if _, differ := d.end(); len(differ) > 0 {
		t.Errorf("%d disagreements, and not all is known", len(differ))
	}
	d.begin(1)
	many := &source.Batch{Collections: make([]gc.Collection, maxWaiting+1), Intervals: make([]stall.Interval, maxWaiting+1)}
	if d.probed(many) || len(d.stops) > 0 || d.seen {
		t.Error("more than the limit is kept")
	}
	for _, b := range []source.Batch{{Watermark: 1, Intervals: many.Intervals}, {Watermark: 1, Collections: many.Collections}} {
		if s := stretch(&b, 0); len(s.stops)+len(s.collections) > 0 || !s.span.Empty() {
			t.Error("more than the limit is kept of a trace")
		}
	}
	d = bothDoors{}
	d.begin(1)
	for range maxStretches + 1 {
		d.traced(tracedStretch{span: stall.Span{Start: 1, End: 2}})
	}
	if len(d.told) != maxStretches || d.seen {
		t.Errorf("%d stretches are kept, and compared: %t, want %d, and not all to be seen", len(d.told), d.seen, maxStretches)
	}
}
