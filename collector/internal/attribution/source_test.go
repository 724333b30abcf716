package attribution

import (
	stdcmp "cmp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

func attributes(ld plog.Logs) pcommon.Map {
	return ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes()
}

// only returns the one log of the one process that a knows.
func only(t *testing.T, a *Attributor, source stall.Origin) *senders.Log {
	t.Helper()
	if len(a.known.exact) != 1 {
		t.Fatalf("%d processes are known, want 1", len(a.known.exact))
	}
	for _, p := range a.known.exact {
		return p.runtime[source]
	}
	return nil
}

func seen(l *senders.Log, from, to int64) float64 {
	return l.Coverage(stall.Span{Start: stall.Instant(from), End: stall.Instant(to)})
}

// TestNothingSeenBeforeTheFirstWatermark: a source that tells that it has seen
// nothing yet has not seen what was before it.
func TestNothingSeenBeforeTheFirstWatermark(t *testing.T) {
	s, a := newSender(), New(Config{})
	first := s.status(stall.GoTrace, 100*sec)
	attributes(first).Remove(semconv.AttrWatermark)
	a.Learn(first)
	a.Learn(s.status(stall.GoTrace, 101*sec))
	a.Learn(s.status(stall.GoTrace, 102*sec))
	l := only(t, a, stall.GoTrace)
	if got := seen(l, 1, 101*sec); got != 0 {
		t.Errorf("coverage before the first watermark: got %v, want 0", got)
	}
	if got := seen(l, 101*sec, 102*sec); got != 1 {
		t.Errorf("coverage after the first watermark: got %v, want 1", got)
	}
}

// TestUnseenOfTheFuture: a status that claims not to have seen what is to come
// does not make it unseen.
func TestUnseenOfTheFuture(t *testing.T) {
	s, a := newSender(), New(Config{})
	a.Learn(s.status(stall.GCWatch, 100*sec))
	odd := s.status(stall.GCWatch, 101*sec)
	attributes(odd).PutEmptySlice(semconv.AttrUnseenStart).AppendEmpty().SetInt(100*sec + 500*ms)
	attributes(odd).PutEmptySlice(semconv.AttrUnseenEnd).AppendEmpty().SetInt(1e9 * sec)
	a.Learn(odd)
	a.Learn(s.status(stall.GCWatch, 102*sec))
	if got := seen(only(t, a, stall.GCWatch), 100*sec, 102*sec); got != 0.75 {
		t.Errorf("coverage: got %v, want 0.75", got)
	}
}

// TestStallsOfTheFuture: stalls of a time that cannot be, told before anybody told
// the time of their host, do not keep out those that come after them.
func TestStallsOfTheFuture(t *testing.T) {
	s, a := newSender(), New(Config{})
	for i := range int64(2 * senders.MostStalls) {
		a.Learn(s.collection(stall.GCWatch, i+1, 1e9*sec+i*sec, 1e9*sec+i*sec+ms, 0))
	}
	a.Learn(s.status(stall.GCWatch, 99*sec))
	a.Learn(s.status(stall.GCWatch, 100*sec))
	a.Learn(s.collection(stall.GCWatch, 7, 100*sec+10*ms, 100*sec+13*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	c := new(catcher)
	a.Hold(s.span(100*sec, 100*sec+20*ms), c.sink(), start)
	a.Flush()
	if got := floats(c.spans[0].Attributes()); got["otelgc.stall.gc.pause"] != 3e-3 || got["otelgc.stall.coverage"] != 1 {
		t.Errorf("charges: got %v, want gc.pause of 3 ms and coverage 1", got)
	}
	if got := a.Lost().Events["time"]; got != 1 {
		t.Errorf("events of times that cannot be: got %d, want the status at which it showed", got)
	}
}

// TestEmptyPauses: a pause of no length delayed nobody, and its collection does
// not count.
func TestEmptyPauses(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Learn(s.status(stall.GCWatch, 99*sec))
	a.Learn(s.collection(stall.GCWatch, 1, 100*sec+5*ms, 100*sec+5*ms, 0))
	a.Learn(s.collection(stall.GCWatch, 2, 100*sec+10*ms, 100*sec+13*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Hold(s.span(100*sec, 100*sec+20*ms), c.sink(), start)
	a.Flush()
	if got := str(t, c.spans[0].Attributes(), semconv.AttrGCOverlap); got != "one_collection" {
		t.Errorf("overlap: got %s, want one_collection", got)
	}
}

// TestToldTwiceDifferently: a pause that is told again with other bounds is
// charged for the time that either claims, once, and is of one collection.
func TestToldTwiceDifferently(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Learn(s.status(stall.GCWatch, 99*sec))
	a.Learn(s.collection(stall.GCWatch, 7, 100*sec+10*ms, 100*sec+13*ms, 0))
	a.Learn(s.collection(stall.GCWatch, 7, 100*sec+11*ms, 100*sec+14*ms, 0))
	a.Learn(s.collection(stall.GCWatch, 7, 100*sec+10*ms, 100*sec+12*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Hold(s.span(100*sec, 100*sec+20*ms), c.sink(), start)
	a.Flush()
	attrs := c.spans[0].Attributes()
	if got := floats(attrs)["otelgc.stall.gc.pause"]; got != 4e-3 {
		t.Errorf("gc.pause: got %v, want 4 ms", got)
	}
	if got := str(t, attrs, semconv.AttrGCOverlap); got != "one_collection" {
		t.Errorf("overlap: got %s, want one_collection", got)
	}
}

// TestSameIdentityAgain: a process with the identity of one that ended, as a pid
// used again with nothing else told, has not seen the time between them.
func TestSameIdentityAgain(t *testing.T) {
	s, a := newSender(), New(Config{Wait: 5 * time.Second})
	a.Learn(s.status(stall.GCWatch, 100*sec))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	again := newSender()
	for at := 105 * sec; at <= 110*sec; at += sec {
		a.Learn(again.status(stall.GCWatch, at)) // the first begins at 104
	}
	l := only(t, a, stall.GCWatch)
	for _, x := range []struct {
		from, to int64
		want     float64
	}{{100 * sec, 101 * sec, 1}, {101 * sec, 104 * sec, 0}, {104 * sec, 110 * sec, 1}} {
		if got := seen(l, x.from, x.to); got != x.want {
			t.Errorf("coverage from %d to %d s: got %v, want %v", x.from/sec, x.to/sec, got, x.want)
		}
	}
}

// TestSpanOlderThanItsSource: of a span that began before its source did, the
// part before it is not covered, and a pause that is known of it counts.
func TestSpanOlderThanItsSource(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Learn(s.status(stall.GCWatch, 100*sec))
	a.Learn(s.collection(stall.GCWatch, 1, 100*sec+100*ms, 100*sec+200*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Hold(s.span(97*sec, 101*sec), c.sink(), start)
	a.Flush()
	want := map[string]float64{"otelgc.stall.gc.pause": 0.1, "otelgc.stall.unseen": 3.9, "otelgc.stall.coverage": 0.25}
	if diff := cmp.Diff(want, floats(c.spans[0].Attributes()), near); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

// TestStatusesInAnyOrder: in whatever order statuses come, all that they cover is
// seen in the end, and what one says it did not see is not.
func TestStatusesInAnyOrder(t *testing.T) {
	known := 0 // in order
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {0, 2, 1, 4, 3}, {0, 4, 3, 2, 1}, {0, 3, 1, 3, 2, 4, 1}, {0, 1, 2, 4, 4, 3, 0}} {
		s, a := newSender(), New(Config{})
		var told []plog.Logs
		for i := range int64(5) {
			ld := s.status(stall.GCWatch, (100+i)*sec)
			if i == 3 {
				attributes(ld).PutEmptySlice(semconv.AttrUnseenStart).AppendEmpty().SetInt(102*sec + 250*ms)
				attributes(ld).PutEmptySlice(semconv.AttrUnseenEnd).AppendEmpty().SetInt(102*sec + 750*ms)
			}
			told = append(told, ld)
		}
		for _, i := range order {
			a.Learn(told[i])
		}
		l := only(t, a, stall.GCWatch)
		if got := seen(l, 100*sec, 104*sec); got != 0.875 {
			t.Errorf("order %v: coverage %v, want 0.875", order, got)
		}
		if known = stdcmp.Or(known, a.Known()); a.Known() != known {
			t.Errorf("order %v: %d bytes are kept, want %d: no status waits", order, a.Known(), known)
		}
	}
}
