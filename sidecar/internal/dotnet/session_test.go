package dotnet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/nettrace"
	"github.com/otelgc/otelgc/internal/nettrace/nettracetest"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func newView(t *testing.T) (*view, stall.Clock) {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	b := NewBudget(clock.Now, 0)
	return &view{Source: New(Options{Clock: clock, Budget: b}), share: b.join("")}, clock
}

// TestStopWithoutItsLastEvent: a stop of which GCRestartEEEnd is missing is over all the
// same; one whose end is not known is no stop.
func TestStopWithoutItsLastEvent(t *testing.T) {
	v, clock := newView(t)
	at := clock.Now()
	v.stop(&dotnetgc.Stop{
		Reason: dotnetgc.Other, Begin: at, Suspended: at + 10_000, RestartBegin: at + 50_000,
		Incomplete: "GCRestartEEEnd was not seen",
	})
	v.stop(&dotnetgc.Stop{Reason: dotnetgc.Other, Begin: at + 90_000, Incomplete: "GCSuspendEEEnd was not seen"})
	b := v.Source.known()
	if len(b.Intervals) != 1 || b.Intervals[0].Start != at || b.Intervals[0].End != at+50_000 || len(v.Observations().Stops) != 1 {
		t.Errorf("got %+v, want one stop of 50µs", b.Intervals)
	}
}

// TestLoss: what the runtime dropped while nothing was read is counted, and its time is
// unseen.
func TestLoss(t *testing.T) {
	v, clock := newView(t)
	from := uint64(clock.Now())
	event := func(ticks uint64, id int, payload ...byte) nettracetest.Event {
		return nettracetest.Event{Provider: dotnetgc.Provider, ID: id, Version: 1, Ticks: from + ticks, Thread: 9, Payload: payload}
	}
	w := nettracetest.New(nettracetest.Options{SyncTicks: int64(from)})
	other := []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // a stop that is not for a collection
	w.Events(event(100, 9, other...), event(200, 8, 0, 0), event(1000, 7, 0, 0), event(1100, 3, 0, 0))
	w.Lose(9, 37)
	w.Events(event(5000, 9, other...), event(5100, 8, 0, 0), event(6000, 7, 0, 0), event(6100, 3, 0, 0))
	w.End()

	var err error
	if v.reader, err = nettrace.NewReader(bytes.NewReader(w.Bytes()), nettrace.Options{Want: dotnetgc.Want}); err != nil {
		t.Fatal(err)
	}
	v.model = dotnetgc.NewModel(v.reader.Header(), dotnetgc.Options{})
	v.began, v.in = stall.Instant(from), &stream{}
	v.cover.Attach(v.began, v.began)
	lost, inBatches, stops := uint64(0), uint64(0), 0
	for err == nil {
		if err = v.read(); errors.Is(err, errStreamEnded) {
			v.model.Close()
			v.deliver()
		}
		b := v.Source.known()
		lost += v.Observations().Lost
		inBatches += b.Lost.Count
		stops += len(b.Intervals)
		v.reset()
	}
	if !errors.Is(err, errStreamEnded) {
		t.Fatal(err)
	}
	if lost != 37 || inBatches != 37 || stops != 2 {
		t.Errorf("%d events lost, %d in batches, %d stops, want 37, 37 and 2", lost, inBatches, stops)
	}
	if got := v.Coverage().Unseen; got < 3900 || got > 3900+time.Microsecond {
		t.Errorf("%v unseen, want what lies between 1100 and 5000 ns", got)
	}
}

// TestEnded: a process whose stream broke off has a moment to be gone, and any
// other failure has none.
func TestEnded(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		failure error
		looks   int // after which it is gone
		want    bool
	}{
		"gone":                 {dotnetipc.ErrNoProcess, 1, true},
		"killed":               {fmt.Errorf("read events: %w", io.ErrUnexpectedEOF), 3, true},
		"ended":                {errStreamEnded, 3, true},
		"the session only":     {errStreamEnded, 1 << 30, false},
		"an answer that fails": {dotnetipc.ErrNoAnswer, 3, false},
	} {
		looks := 0
		p := New(Options{Clock: clock, Gone: func(error) bool { looks++; return looks >= c.looks }})
		p.last = c.failure
		if got := p.ended(t.Context()); got != c.want {
			t.Errorf("%s: ended is %v after %d looks, want %v", name, got, looks, c.want)
		}
	}
}

// TestShift: every instant of a record moves, and nothing that is not known.
func TestShift(t *testing.T) {
	c := gc.Collection{Start: gc.Known(stall.Instant(100)), Pauses: []gc.Pause{{Start: 90, End: 110, EndMax: 112, Suspend: gc.Known(time.Duration(3))}}}
	shiftCollection(&c, -50)
	if c.Start.Or(0) != 50 || !c.End.IsZero() || c.Pauses[0] != (gc.Pause{Start: 40, End: 60, EndMax: 62, Suspend: gc.Known(time.Duration(3))}) {
		t.Errorf("collection: got %+v", c)
	}
	s := dotnetgc.Stop{Begin: 90, Suspended: 93, RestartBegin: 110, RestartEnd: 112}
	shiftStop(&s, -50)
	if s.Begin != 40 || s.Suspended != 43 || s.RestartBegin != 60 || s.RestartEnd != 62 || s.Resumed != 0 {
		t.Errorf("stop: got %+v", s)
	}
}

func TestSameClock(t *testing.T) {
	second := stall.Instant(time.Second)
	h := nettrace.Header{Frequency: 1e9, SyncTicks: nettrace.Ticks(10 * second)}
	for _, c := range []struct {
		by            time.Duration
		before, after stall.Instant
		fine          bool
	}{
		{0, 10 * second, 10 * second, true},
		{0, 10*second - 1000, 10*second + 1000, true},
		{time.Hour, 10 * second, 10 * second, false},
		{time.Hour, 10*second + stall.Instant(time.Hour), 10*second + stall.Instant(time.Hour), true},
		{0, 8 * second, 9 * second, false},
		{0, 11 * second, 12 * second, false},
	} {
		if err := sameClock(h, c.by, c.before, c.after); (err == nil) != c.fine {
			t.Errorf("session begun between %d and %d, shifted by %v: got %v", c.before, c.after, c.by, err)
		}
	}
}
