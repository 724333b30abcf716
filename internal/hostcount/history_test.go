package hostcount

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestDuring(t *testing.T) {
	var h History
	for i := range 10 {
		r := Reading{
			Span:   stall.Span{Start: stall.Instant(100 * (i + 1)), End: stall.Instant(100*(i+1) + 10)},
			Counts: Counts{MajorFaults: uint64(i), Throttled: gc.Known(time.Duration(10 * i)), Stolen: time.Duration(i * i)},
		}
		if i%5 == 0 { // of 100 and 600
			r.RunDelay = gc.Known(time.Duration(1000 * i))
		}
		h.Add(r)
	}
	known := func(d time.Duration) gc.Maybe[time.Duration] { return gc.Known(d) }
	for _, test := range []struct {
		name string
		span stall.Span
		want gc.HostDuring
	}{
		{"between two readings", stall.Span{Start: 720, End: 790}, gc.HostDuring{
			MajorFaults: gc.Known(uint64(1)), Throttled: known(10), Stolen: known(13), Over: known(110),
		}},
		{"with run delay, which was read further apart", stall.Span{Start: 320, End: 390}, gc.HostDuring{
			MajorFaults: gc.Known(uint64(1)), Throttled: known(10), Stolen: known(5), RunDelay: known(5000), Over: known(510),
		}},
		{"a reading lies in it", stall.Span{Start: 720, End: 850}, gc.HostDuring{
			MajorFaults: gc.Known(uint64(2)), Throttled: known(20), Stolen: known(28), Over: known(210),
		}},
		{"it begins while there was one", stall.Span{Start: 705, End: 790}, gc.HostDuring{
			MajorFaults: gc.Known(uint64(2)), Throttled: known(20), Stolen: known(24), Over: known(210),
		}},
		{"before the first", stall.Span{Start: 50, End: 60}, gc.HostDuring{}},
		{"after the last", stall.Span{Start: 950, End: 1050}, gc.HostDuring{}},
	} {
		got := h.During(test.span)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(gc.Maybe[time.Duration]{}, gc.Maybe[uint64]{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

func TestHistoryIsBounded(t *testing.T) {
	var h History
	if h.Last() != 0 {
		t.Error("an empty history has a last reading")
	}
	for i := range 3 * maxReadings {
		h.Add(Reading{Span: stall.Span{Start: stall.Instant(i), End: stall.Instant(i)}})
	}
	if n := len(h.readings); n > maxReadings {
		t.Errorf("%d readings, want at most %d", n, maxReadings)
	}
	if got := h.Last(); got != 3*maxReadings-1 {
		t.Errorf("last: got %d, want %d", got, 3*maxReadings-1)
	}
}
