package kernel

import (
	"testing"

	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

// Lost records make an account incomplete where they may have been, and nowhere
// else.
func TestAccountKnowsWhatIsMissing(t *testing.T) {
	lose := func(v *View, n int) (thread, cpu perf.Record) {
		r := perf.Record{Kind: perf.Loss, At: at(n), CPU: v.thread.home, Lost: 1}
		return r, r
	}
	v := newView()
	v.point(50, timerIn, 236)
	v.in(50, 3)
	thread, cpu := lose(v, 120)
	v.thread.take(&thread)
	if a := v.Account(gap(100, 200)); a.Thread || !a.CPU {
		t.Errorf("records of the thread lost: got %+v", a)
	}
	v.cpu.take(&cpu)
	if a := v.Account(gap(100, 200)); a.Thread || a.CPU {
		t.Errorf("both lost: got %+v", a)
	}
	if a := v.Account(gap(130, 200)); !a.Thread || !a.CPU {
		t.Errorf("lost before: got %+v", a)
	}
	if a := v.Account(gap(-10, -5)); a.Thread || a.CPU {
		t.Errorf("before the rings were open: got %+v", a)
	}
	v.Forget(at(500))
	if a := v.Account(gap(600, 700)); !a.Thread || !a.CPU || len(v.cpu.blind) != 0 {
		t.Errorf("forgotten: got %+v", a)
	}
}

// What is missing may come to light after what is missing later.
func TestWhatIsMissingIsToldLate(t *testing.T) {
	v := newView()
	v.in(300, 5)
	v.in(400, 3)
	v.followHome() // the records of the CPU from 300 to 400 are of no use
	v.point(110, timerIn, 236)
	v.cpu.take(&perf.Record{Kind: perf.Loss, At: at(150), Lost: 9})
	v.point(500, timerIn, 236)
	for _, test := range []struct {
		gap  stall.Span
		want bool
	}{{gap(50, 100), true}, {gap(120, 140), false}, {gap(310, 320), false}, {gap(450, 460), true}} {
		if a := v.Account(test.gap); a.CPU != test.want {
			t.Errorf("from %d: records of the CPU are complete: got %v, want %v", test.gap.Start-t0, a.CPU, test.want)
		}
	}
}

// What is kept is bounded, and what had to go was not seen.
func TestHistoryIsBounded(t *testing.T) {
	v := newView()
	for i := range 3 * maxSpans {
		v.point(10*i, timerIn, 236)
		v.point(10*i+1, timerOut, 236)
		v.runs(10*i+2, 5, "x")
	}
	if len(v.cpu.spans) > maxSpans || len(v.cpu.turns) > maxTurns || len(v.cpu.blind) > maxBlind {
		t.Errorf("kept %d spans, %d turns, %d blind spans", len(v.cpu.spans), len(v.cpu.turns), len(v.cpu.blind))
	}
	if a := v.Account(gap(100, 200)); a.CPU {
		t.Errorf("what had to go: got %+v", a)
	}
	if a := v.Account(gap(30*maxSpans-50, 30*maxSpans)); !a.CPU || a.Interrupts != 5 {
		t.Errorf("what was kept: got %+v", a)
	}
	v = newView()
	for i := range maxTurns + 1 {
		v.runs(10*i, 5, "x")
	}
	if a := v.Account(gap(100, 200)); a.CPU {
		t.Errorf("who had to be forgotten had the CPU: got %+v", a)
	}
}
