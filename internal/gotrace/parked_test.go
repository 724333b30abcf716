package gotrace_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// preemptions holds a goroutine that ran and was parked by the runtime: before a
// collection, in it, once more across two generations, and after it; and once by
// a debugger.
const preemptions = `
@gen 1
@m 1 100
GoStatus dt=0 g=7 m=1 gstatus=2
UserLog dt=0 task=0 key_string=3 value_string=0 stack=0
GoBlock dt=10 reason_string=5 stack=0
GoUnblock dt=10 g=7 g_seq=1 stack=0
GoStart dt=10 g=7 g_seq=2
GCBegin dt=70 gc_seq=1 stack=0
GoBlock dt=10 reason_string=5 stack=0
GoUnblock dt=10 g=7 g_seq=3 stack=0
GoStart dt=10 g=7 g_seq=4
GoBlock dt=70 reason_string=5 stack=0
@tables
Stacks
` + reasons + `
@end
@gen 2
@m 1 400
GoStatus dt=0 g=7 m=18446744073709551615 gstatus=4
GoUnblock dt=100 g=7 g_seq=1 stack=0
GoStart dt=0 g=7 g_seq=2
GCEnd dt=100 gc_seq=2
GoBlock dt=100 reason_string=5 stack=0
GoUnblock dt=10 g=7 g_seq=3 stack=0
GoStart dt=0 g=7 g_seq=4
GoBlock dt=90 reason_string=6 stack=0
GoUnblock dt=10 g=7 g_seq=5 stack=0
GoStart dt=0 g=7 g_seq=6
GoDestroy dt=10
@tables
Stacks
` + reasons + `
String id=6
data="wait for debug call"
@end
`

// TestParkedByTheRuntime: who ran and was parked waits for the collector while
// there is a collection, and otherwise for nobody knows whom; never by its own
// doing.
func TestParkedByTheRuntime(t *testing.T) {
	parked := func(from, to stall.Instant, reason string, gcWait bool) gotrace.TrackSpan {
		s := span(from, to, stall.StateParked, reason)
		s.GCWait, s.Held = gcWait, !gcWait
		return s
	}
	want := [][]laid{
		{{Goroutine: 7, Spans: []gotrace.TrackSpan{
			span(100, 110, stall.StateRunning, ""),
			parked(110, 120, "preempted", false), span(120, 130, stall.StateRunnable, ""), span(130, 210, stall.StateRunning, ""),
			parked(210, 220, "preempted", true), span(220, 230, stall.StateRunnable, ""), span(230, 300, stall.StateRunning, ""),
		}}},
		{{Goroutine: 7, Ended: true, Spans: []gotrace.TrackSpan{
			parked(300, 500, "preempted", true), span(500, 700, stall.StateRunning, ""),
			parked(700, 710, "preempted", false), span(710, 800, stall.StateRunning, ""),
			parked(800, 810, "wait for debug call", false), span(810, 820, stall.StateRunning, ""),
		}}},
	}
	var got [][]laid
	err := all(t, assemble(t, preemptions), gotrace.Options{MarkPrefix: "otelgc/"}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		got = append(got, layOut(g))
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tracks (-want +got):\n%s", diff)
	}
}

// TestTurnToCollect: who waits for others to begin a collection, as an allocation
// does that finds the heap over its trigger, waits for the collector; who waits
// for a lock of its own does not.
func TestTurnToCollect(t *testing.T) {
	data := assemble(t, `
@gen 1
@m 1 100
GoStatus dt=0 g=7 m=1 gstatus=2
UserLog dt=0 task=0 key_string=3 value_string=0 stack=0
GoBlock dt=10 reason_string=6 stack=1
GoUnblock dt=10 g=7 g_seq=1 stack=0
GoStart dt=0 g=7 g_seq=2
GoBlock dt=10 reason_string=6 stack=2
@tables
Stacks
Stack id=1 nframes=2
pc=1 func=7 file=0 line=1
pc=2 func=8 file=0 line=1
Stack id=2 nframes=1
pc=2 func=8 file=0 line=1
`+reasons+`
String id=6
data="sync"
String id=7
data="runtime.gcStart"
String id=8
data="main.main"
@end
@gen 2
@m 1 200
GoStatus dt=0 g=7 m=18446744073709551615 gstatus=4
GoUnblock dt=10 g=7 g_seq=1 stack=0
GoStart dt=0 g=7 g_seq=2
@tables
Stacks
`+reasons+"@end")
	forGC := span(110, 120, stall.StateParked, "sync")
	forGC.GCWait = true
	want := []laid{
		{Goroutine: 7, Spans: []gotrace.TrackSpan{span(100, 110, stall.StateRunning, ""), forGC, span(120, 130, stall.StateRunning, "")}},
		{Goroutine: 7, Spans: []gotrace.TrackSpan{span(130, 210, stall.StateParked, "sync")}},
	}
	var got []laid
	err := all(t, data, gotrace.Options{MarkPrefix: "otelgc/"}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		got = append(got, layOut(g)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tracks (-want +got):\n%s", diff)
	}
}
