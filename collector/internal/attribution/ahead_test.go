package attribution

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestAhead: one status of a time that has not come does not have everybody else of
// the host silent, be it the first that is heard, and nor do a few: they are of who
// sent them, alone. One that is ahead of its own sender is refused.
func TestAhead(t *testing.T) {
	const hour = 3500 * sec // which a machine that is heard again might be ahead
	for name, x := range map[string]struct {
		odd     []int64 // what another process tells, by the second
		at      int64   // the second of the span
		refused uint64
	}{
		"one":          {[]int64{5: hour}, 10, 0},
		"the first":    {[]int64{0: hour}, 40, 0},
		"now and then": {[]int64{5: hour, 6: hour, 7: hour + 30*sec, 19: hour}, 30, 1},
		"none":         {nil, 10, 0},
	} {
		s, odd, a, c := newSender(), newSender(), New(Config{}), new(catcher)
		odd.pid = 99
		for i := range x.at + 1 {
			a.Tick(start.Add(time.Duration(i) * time.Second))
			if i < int64(len(x.odd)) && x.odd[i] > 0 {
				a.Learn(odd.status(stall.Dotnet, 100*sec+i*sec+x.odd[i]))
			}
			a.Learn(s.status(stall.GCWatch, 100*sec+i*sec))
		}
		at := 100*sec + x.at*sec
		a.Hold(s.span(at+10*ms, at+20*ms), c.sink(), start.Add(time.Duration(x.at)*time.Second))
		if a.Tick(start.Add(time.Duration(x.at) * time.Second)); len(c.spans) != 0 {
			t.Errorf("%s: the span went on before its source had told", name)
		}
		a.Learn(s.collection(stall.GCWatch, 1, at+12*ms, at+15*ms, 0))
		a.Learn(s.status(stall.GCWatch, at+sec))
		if a.Tick(start.Add(time.Duration(x.at+1) * time.Second)); len(c.spans) != 1 {
			t.Errorf("%s: the span waits although its source has told", name)
			continue
		}
		if got := floats(c.spans[0].Attributes()); got["otelgc.stall.gc.pause"] != 3e-3 || got["otelgc.stall.coverage"] != 1 {
			t.Errorf("%s: charges: got %v, want gc.pause of 3 ms and coverage 1", name, got)
		}
		if got := a.Lost(); got.Events["time"] != x.refused || got.HostsForgotten+got.ProcessesForgotten != 0 {
			t.Errorf("%s: lost %+v, want %d statuses and nobody forgotten", name, got, x.refused)
		}
	}
}

// TestTimeWentOn: where nothing but a later time is told, as after data was lost on
// the way, it is the host's.
func TestTimeWentOn(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Tick(start)
	a.Learn(s.status(stall.GCWatch, 100*sec))
	for i := range int64(senders.BelieveAfter + 1) {
		a.Learn(s.status(stall.GCWatch, 400*sec+i*sec))
	}
	const at = 400*sec + senders.BelieveAfter*sec
	a.Learn(s.collection(stall.GCWatch, 1, at-90*ms, at-80*ms, 0))
	a.Hold(s.span(at-95*ms, at-75*ms), c.sink(), start)
	a.Flush()
	if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"]; got != 10e-3 || a.Lost().Events["time"] != senders.BelieveAfter-1 {
		t.Errorf("gc.pause %v, lost %+v; want 10 ms, and the statuses that nobody believed yet", got, a.Lost())
	}
}

// TestLagging: who sends what it kept, and came first, does not keep out who tells
// the time.
func TestLagging(t *testing.T) {
	now, late, a, c := newSender(), newSender(), New(Config{}), new(catcher)
	late.pid = 99
	const seconds = senders.BelieveAfter + 5
	for i := range int64(seconds) {
		a.Tick(start.Add(time.Duration(i) * time.Second))
		a.Learn(late.status(stall.GCWatch, 500*sec+i*sec))
		a.Learn(now.status(stall.GCWatch, 1000*sec+i*sec))
	}
	const at = 1000*sec + (seconds-1)*sec
	a.Hold(now.span(at-95*ms, at-75*ms), c.sink(), start)
	a.Flush()
	if got := floats(c.spans[0].Attributes())[semconv.AttrCoverage]; got != 1 {
		t.Errorf("coverage %v, lost %+v; want 1", got, a.Lost())
	}
}

// TestBacklog: what an agent kept while it could not send does not make a host
// forget the time that others of it tell.
func TestBacklog(t *testing.T) {
	now, late, a := newSender(), newSender(), New(Config{})
	late.pid = 99
	for i := range int64(10) {
		a.Tick(start.Add(time.Duration(i) * time.Second))
		a.Learn(now.status(stall.GCWatch, 1000*sec+i*sec))
		for j := range int64(100) {
			a.Learn(late.status(stall.GCWatch, 500*sec+(i*100+j)*sec/10))
		}
	}
	if got := a.Lost(); len(got.Events) != 0 || got.HostsForgotten != 0 {
		t.Errorf("lost %+v, want nothing", got)
	}
}
