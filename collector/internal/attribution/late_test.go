package attribution

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestLateDuplicatedOutOfOrder: events that come 8 s late, twice and in the wrong
// order charge as if they had come in time.
func TestLateDuplicatedOutOfOrder(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Learn(s.status(stall.GCWatch, 100*sec))
	a.Hold(s.span(100*sec, 100*sec+100*ms), c.sink(), start)
	for i := int64(1); i < 8; i++ {
		a.Tick(start.Add(time.Duration(i) * time.Second))
	}
	for range 2 {
		a.Learn(s.collection(stall.GCWatch, 9, 100*sec+50*ms, 100*sec+60*ms, 0))
		a.Learn(s.collection(stall.GCWatch, 8, 100*sec+10*ms, 100*sec+20*ms, 0))
	}
	first, second := s.status(stall.GCWatch, 107*sec), s.status(stall.GCWatch, 108*sec)
	a.Learn(second)
	a.Learn(second)
	if a.Tick(start.Add(8 * time.Second)); len(c.spans) != 0 {
		t.Fatal("the span went on while a status was missing, and the pauses that may have come with it")
	}
	a.Learn(first)
	a.Tick(start.Add(8 * time.Second))
	if len(c.spans) != 1 {
		t.Fatalf("got %d spans, want 1", len(c.spans))
	}
	got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"]
	if !cmp.Equal(got, 20e-3, cmpopts.EquateApprox(0, 2e-6)) {
		t.Errorf("gc.pause: got %v, want 20 ms", got)
	}
	if got := str(t, c.spans[0].Attributes(), semconv.AttrGCOverlap); got != "several_collections" {
		t.Errorf("overlap: got %s", got)
	}
	if got := a.Lost().Duplicates; got != 2 {
		t.Errorf("duplicates: got %d, want 2", got)
	}
}

// TestOvertaken: an event behind the watermark of its source is counted, once,
// and is there for the spans that still wait; beside its status it is in time,
// also behind it.
func TestOvertaken(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Learn(s.status(stall.GCWatch, 99*sec))
	pause := s.collection(stall.GCWatch, 1, 100*sec+ms, 100*sec+4*ms, 0)
	both := s.status(stall.GCWatch, 101*sec)
	pause.ResourceLogs().At(0).CopyTo(both.ResourceLogs().AppendEmpty())
	a.Learn(both)
	a.Learn(pause) // that is a duplicate
	if got := a.Lost(); got.Events["late"] != 0 || got.Duplicates != 1 {
		t.Errorf("lost %+v, want no late event and one duplicate", got)
	}
	a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
	a.Learn(s.collection(stall.GCWatch, 2, 100*sec+5*ms, 100*sec+7*ms, 0))
	a.Learn(s.collection(stall.GCWatch, 3, 102*sec, 102*sec+ms, 0))
	a.Flush()
	if diff := cmp.Diff(map[string]uint64{"late": 1}, a.Lost().Events); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"]; !cmp.Equal(got, 5e-3, cmpopts.EquateApprox(0, 2e-6)) {
		t.Errorf("gc.pause: got %v, want both pauses, 5 ms", got)
	}
}

// TestLostEvents: where a status never comes, the pauses that were sent with it
// did not come either, and the time is unseen; what came after it counts.
func TestLostEvents(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	a.Learn(s.status(stall.GCWatch, 100*sec))
	s.status(stall.GCWatch, 101*sec) // never sent
	for at := 102 * sec; at <= 110*sec; at += sec {
		a.Learn(s.status(stall.GCWatch, at))
	}
	a.Hold(s.span(100*sec+500*ms, 100*sec+600*ms), c.sink(), start)
	a.Hold(s.span(102*sec+500*ms, 102*sec+600*ms), c.sink(), start)
	if a.Tick(start); len(c.spans) != 0 {
		t.Fatal("the spans did not wait for what may be late")
	}
	a.Learn(s.status(stall.GCWatch, 111*sec)) // now it is too late
	if a.Tick(start); len(c.spans) != 2 {
		t.Fatalf("%d spans went on, want 2", len(c.spans))
	}
	got := map[float64]int{}
	for _, span := range c.spans {
		got[floats(span.Attributes())["otelgc.stall.coverage"]]++
	}
	if diff := cmp.Diff(map[float64]int{0: 1, 1: 1}, got); diff != "" {
		t.Errorf("coverage of the span in the lost second, and of the other (-want +got):\n%s", diff)
	}
}

// TestStepOfTheWallClock: the clock is set ahead between two statuses, and later
// back, and only then spans come. Each is charged with the pause of its own time;
// of a wall time that the clock showed twice it is uncertain, rather than wrong.
func TestStepOfTheWallClock(t *testing.T) {
	for by, twice := range map[time.Duration]int{time.Hour: 0, 2 * time.Second: 60, -2 * time.Second: 60} {
		s, a := newSender(), New(Config{})
		set := *s
		set.off += by.Nanoseconds()
		for at, who := range []*sender{s, s, &set, &set, &set, s, s, s} { // set at 101.5 and at 104.5
			a.Learn(who.status(stall.GCWatch, int64(100+at)*sec))
		}
		uncertain := 0
		for i := range int64(70) {
			at, own := 100*sec+i*100*ms, 5*ms+i*ms/10
			a.Learn(s.collection(stall.GCWatch, i+1, at+10*ms, at+10*ms+own, 0))
		}
		for i := range int64(70) {
			who, at, own := s, 100*sec+i*100*ms, 5*ms+i*ms/10
			if i >= 15 && i < 45 {
				who = &set
			}
			c := new(catcher)
			a.Hold(who.span(at, at+50*ms), c.sink(), start)
			a.Flush()
			got := floats(c.spans[0].Attributes())
			switch pause := got["otelgc.stall.gc.pause"]; {
			case got["otelgc.stall.uncertain"] > 1e-3 && pause == 0:
				uncertain++
			case !cmp.Equal(pause, time.Duration(own).Seconds(), cmpopts.EquateApprox(0, 2e-6)) || got["otelgc.stall.coverage"] != 1:
				t.Errorf("set by %v, span %d: %v, want a pause of %v", by, i, got, time.Duration(own))
			}
		}
		if uncertain > twice || twice > 0 && uncertain == 0 {
			t.Errorf("set by %v: %d spans are uncertain, want those of wall times that may have been shown twice, at most %d", by, uncertain, twice)
		}
	}
}
