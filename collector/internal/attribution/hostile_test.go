package attribution

import (
	"math"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestAbsurdSpans: spans whose times cannot be go on, each with owners that sum
// to what is made of its length, and do not spoil those beside them.
func TestAbsurdSpans(t *testing.T) {
	const wall = uint64(offset + 100*sec)
	hour := uint64(time.Hour)
	for name, x := range map[string]struct {
		start, end uint64
		want       time.Duration
	}{
		"no times":          {0, 0, 0},
		"never ended":       {wall, 0, 0},
		"backwards":         {wall + 5, wall, 0},
		"since 1970":        {0, wall, 0},
		"year 2262":         {wall, math.MaxInt64, 0},
		"year 2554":         {wall, math.MaxUint64, 0},
		"both of year 2554": {math.MaxUint64 - 9, math.MaxUint64, 0},
		"an hour":           {wall - hour, wall, time.Hour},
		"eight days":        {wall - 192*hour, wall, 0},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		a.Learn(s.status(stall.GCWatch, 99*sec))
		a.Learn(s.collection(stall.GCWatch, 1, 100*sec+12*ms, 100*sec+15*ms, 0))
		a.Learn(s.status(stall.GCWatch, 101*sec))
		td := s.span(100*sec+10*ms, 100*sec+20*ms)
		odd := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().AppendEmpty()
		odd.SetStartTimestamp(pcommon.Timestamp(x.start))
		odd.SetEndTimestamp(pcommon.Timestamp(x.end))
		a.Hold(td, c.sink(), start)
		if a.Tick(start); len(c.spans) != 2 || a.Lost().SpansTimedOut != 0 {
			t.Fatalf("%s: %d spans went on, lost %+v; want 2 at once", name, len(c.spans), a.Lost())
		}
		if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"]; got != 3e-3 {
			t.Errorf("%s: the span beside it: gc.pause %v, want 3 ms for certain", name, got)
		}
		if got := total(floats(c.spans[1].Attributes())); math.Abs(got-x.want.Seconds()) > 1e-6 {
			t.Errorf("%s: the owners sum to %v s, want %v", name, got, x.want)
		}
	}
}

// TestTimesOfTheFuture: a status of a time that has not come is told from the
// rest, and its process is heard as if it had not been; if it was the first that was
// heard, as soon as the rest outnumber it.
func TestTimesOfTheFuture(t *testing.T) {
	for name, x := range map[string]struct {
		told      []int64
		refused   uint64
		forgotten uint64
	}{
		"in the midst": {[]int64{99 * sec, 1e6 * sec, 99*sec + 1}, 1, 0},
		"first":        {[]int64{1e6 * sec}, senders.BelieveAfter, 1},
		"some":         {[]int64{99 * sec, 1e6 * sec, 1e5 * sec, 99*sec + 1, 1e6 * sec}, 3, 0},
		"of the past":  {[]int64{1e4 * sec, 99 * sec, 98 * sec}, senders.BelieveAfter, 1},
	} {
		s, a := newSender(), New(Config{})
		for _, at := range x.told {
			who := s
			if at > 100*sec {
				who = newSender() // what it says of another time follows nothing
			}
			a.Learn(who.status(stall.GCWatch, at))
		}
		for i := range int64(senders.BelieveAfter + 4) {
			a.Learn(s.status(stall.GCWatch, 100*sec+i))
		}
		a.Learn(s.collection(stall.GCWatch, 1, 100*sec+12*ms, 100*sec+15*ms, 0))
		a.Learn(s.collection(stall.GCWatch, 2, 1e6*sec, 1e6*sec+ms, 0)) // it would stay for ever
		a.Learn(s.status(stall.GCWatch, 101*sec))
		c := new(catcher)
		a.Hold(s.span(100*sec+10*ms, 100*sec+20*ms), c.sink(), start)
		a.Tick(start)
		if len(c.spans) != 1 {
			t.Errorf("%s: the span waits for a time that does not come", name)
			continue
		}
		if got := floats(c.spans[0].Attributes()); got["otelgc.stall.gc.pause"] != 3e-3 || got["otelgc.stall.coverage"] != 1 {
			t.Errorf("%s: charges: got %v, want gc.pause of 3 ms and coverage 1", name, got)
		}
		if got := a.Lost(); got.Events["time"] != x.refused+1 || got.ProcessesForgotten != x.forgotten {
			t.Errorf("%s: lost %+v, want %d statuses and the pause of the future, and %d processes forgotten", name, got, x.refused, x.forgotten)
		}
	}
}

// TestLongSilence: a host that nobody heard for hours is heard again at once, as
// its time went on.
func TestLongSilence(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Tick(start)
	a.Learn(s.status(stall.GCWatch, 100*sec))
	a.known.clock += 5 * time.Hour // as by ticks at which it was not forgotten
	const now = 100*sec + 5*3600*sec
	a.Learn(s.collection(stall.GCWatch, 1, now-900*ms, now-800*ms, 0))
	a.Learn(s.status(stall.GCWatch, now))
	a.Learn(s.status(stall.GCWatch, now+sec))
	a.Hold(s.span(now-950*ms, now-700*ms), c.sink(), start)
	a.Flush()
	if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"]; got != 0.1 || len(a.Lost().Events) != 0 {
		t.Errorf("gc.pause %v, lost %+v; want the pause of 100 ms and nothing lost", got, a.Lost())
	}
}

// TestDeepValues: spans whose values lie deeper than anybody measures go on.
func TestDeepValues(t *testing.T) {
	a, c, s := New(Config{}), new(catcher), newSender()
	td := s.span(100*sec, 101*sec)
	v := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes().PutEmpty("deep")
	for range 10_000 {
		v = v.SetEmptySlice().AppendEmpty()
	}
	a.Hold(td, c.sink(), start)
	if got := a.Lost().SpansOverLimit; len(c.spans) != 1 || got != 1 {
		t.Errorf("%d spans went on, %d over the limit; want 1 and 1", len(c.spans), got)
	}
}

// TestOddAttributes: identity and charges of the wrong type are none.
func TestOddAttributes(t *testing.T) {
	for _, put := range []func(pcommon.Map, string){
		func(m pcommon.Map, k string) { m.PutEmptyMap(k).PutStr("x", "y") },
		func(m pcommon.Map, k string) { m.PutEmptySlice(k).AppendEmpty().SetInt(1) },
		func(m pcommon.Map, k string) { m.PutEmptyBytes(k).Append(1, 2) },
		func(m pcommon.Map, k string) { m.PutDouble(k, math.NaN()) },
		func(m pcommon.Map, k string) { m.PutInt(k, math.MinInt64) },
		func(m pcommon.Map, k string) { m.PutBool(k, true) },
		func(m pcommon.Map, k string) { m.PutEmpty(k) },
	} {
		a, c, s := New(Config{}), new(catcher), newSender()
		ld := s.status(stall.GCWatch, 101*sec)
		event := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes()
		td := s.span(100*sec, 100*sec+10*ms)
		resource := td.ResourceSpans().At(0).Resource().Attributes()
		span := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
		for _, k := range []string{
			semconv.AttrBootID, semconv.AttrProcessPID, semconv.AttrProcessCreation, semconv.AttrHostID, semconv.AttrHostName, wire.AttrContainerID, wire.AttrPodUID,
			semconv.AttrSource, semconv.AttrEnd, semconv.AttrWatermark, semconv.AttrWallOffset, semconv.AttrUnseenStart, "service.name",
			semconv.AttrFidelity, semconv.AttrGCOverlap, semconv.AttrCoverage, semconv.Unseen.Key(), semconv.AppOrHost.Key(),
		} {
			put(event, k)
			put(resource, k)
			put(span, k)
		}
		a.Learn(ld)
		a.Hold(td, c.sink(), start)
		a.Flush()
		if got := a.Lost(); len(c.spans) != 1 || got.Events["no_identity"] != 1 || got.SpansUnknown != 1 {
			t.Errorf("%d spans went on, lost %+v; want the event without identity, and the span unknown", len(c.spans), got)
		}
	}
}
