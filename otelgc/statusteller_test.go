package otelgc

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// heardMonitor returns a monitor that has not begun, and what gets its events.
func heardMonitor(t *testing.T) (*Monitor, *rig) {
	t.Helper()
	m, r := idleMonitor(t), newRig()
	tel, err := telemetry.New(telemetry.Options{Logger: r.apply(config{}).loggers.Logger("test"), Clock: m.here.clock})
	if err != nil {
		t.Fatal(err)
	}
	m.tel.Telemetry, m.timeline = tel, timeline.New(second)
	return m, r
}

// TestWatermarkStands: a collection that is noticed later does not take back what a
// source has said, though the place of a pause is known only roughly, and may seem to
// lie before.
func TestWatermarkStands(t *testing.T) {
	p, r := heardMonitor(t)
	tell := func(at stall.Instant) {
		p.timeline.Cycle.Advance(at)
		p.status.source(at, p.here.clock.Wall(), p.timeline.Cycle)
	}
	tell(2 * second)
	end := 2*second + 1000
	p.timeline.Watched(&source.Batch{Collections: []gc.Collection{{
		Index: 1, Cycles: 1, End: gc.Known(end),
		Pauses: []gc.Pause{{Start: end - 500, End: end, EndMax: end, Slack: time.Millisecond}},
	}}}, nil)
	tell(3 * second)
	var got []stall.Instant
	for _, s := range r.events.statuses(stall.GCWatch) {
		got = append(got, stall.Instant(s[semconv.AttrWatermark].AsInt64()))
	}
	if len(got) != 2 || got[0] != 2*second || got[1] != got[0] {
		t.Errorf("watermarks %v, want twice %d", got, 2*second)
	}
}

// TestStatusAfterLong: what a source did not see is named where it comes to be known
// later than any deadline, as behind a decoder that had no CPU.
func TestStatusAfterLong(t *testing.T) {
	p, r := heardMonitor(t)
	tell := func(at stall.Instant) {
		p.status.source(at, p.here.clock.Wall(), p.timeline.Exact)
		p.status.since = at
	}
	p.timeline.Exact.Advance(2 * second)
	for at := 2 * second; at <= 10*second; at += second {
		tell(at)
	}
	p.timeline.Exact.MarkUnseen(stall.Span{Start: 2 * second, End: 11 * second})
	p.timeline.Exact.Advance(11 * second)
	tell(11 * second)
	all := r.events.statuses(stall.GoTrace)
	last := all[len(all)-1]
	starts, ends := last[semconv.AttrUnseenStart].AsInt64Slice(), last[semconv.AttrUnseenEnd].AsInt64Slice()
	if len(starts) != 1 || stall.Instant(starts[0]) > 2*second || stall.Instant(ends[0]) != 11*second {
		t.Errorf("unseen from %v to %v, want from %d or before to %d", starts, ends, 2*second, 11*second)
	}
}
