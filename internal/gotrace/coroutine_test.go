package gotrace_test

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"runtime/trace"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// coroutines holds goroutine 1, which switches to 7, which assists, parks, goes
// on on thread 2 and switches to 8. That one ends in the next generation, and 7
// switches back.
const coroutines = `
@gen 1
@m 2 160
GoStart dt=0 g=7 g_seq=3
GoCreateBlocked dt=5 new_g=8 new_stack=0 stack=0
GoSwitch dt=5 g=8 g_seq=1
HeapAlloc dt=10 heapalloc_value=1
@m 1 100
GoStatus dt=0 g=1 m=1 gstatus=2
UserLog dt=0 task=0 key_string=3 value_string=0 stack=0
GoCreateBlocked dt=10 new_g=7 new_stack=0 stack=0
GoSwitch dt=10 g=7 g_seq=1
GCMarkAssistBegin dt=5 stack=0
GCMarkAssistEnd dt=5
GoBlock dt=10 reason_string=1 stack=0
GoUnblock dt=10 g=7 g_seq=2 stack=0
@tables
Stacks
` + reasons + `
@end
@gen 2
@m 2 180
GoStatus dt=0 g=8 m=2 gstatus=2
GoStatus dt=0 g=7 m=18446744073709551615 gstatus=4
GoStatus dt=0 g=1 m=18446744073709551615 gstatus=4
GCSweepBegin dt=20 stack=0
GCSweepEnd dt=5 swept_value=1 reclaimed_value=1
GoSwitchDestroy dt=15 g=7 g_seq=1
GoSwitch dt=10 g=1 g_seq=1
GoSwitch dt=10 g=7 g_seq=2
GoSwitch dt=10 g=1 g_seq=2
GoStop dt=10 reason_string=5 stack=0
@tables
Stacks
` + reasons + `
@end
`

func TestCoroutines(t *testing.T) {
	type generation struct {
		Tracks []laid
		Most   []int
		Turns  []gotrace.Turn
	}
	turn := func(coroutine uint64, from, to stall.Instant) gotrace.Turn {
		return gotrace.Turn{Span: stall.Span{Start: from, End: to}, Coroutine: coroutine, For: 1}
	}
	want := []generation{
		{
			Tracks: []laid{{Goroutine: 1, Spans: []gotrace.TrackSpan{
				span(100, 140, stall.StateRunning, ""), span(140, 150, stall.StateParked, "chan receive"),
				span(150, 160, stall.StateRunnable, ""), span(160, 180, stall.StateRunning, ""),
			}}},
			Most:  []int{4},
			Turns: []gotrace.Turn{turn(7, 120, 170), turn(8, 170, 180)},
		},
		{
			Tracks: []laid{{Goroutine: 1, Spans: []gotrace.TrackSpan{span(180, 260, stall.StateRunning, "")}}},
			Most:   []int{1},
			Turns:  []gotrace.Turn{turn(7, 220, 250), turn(8, 180, 220)},
		},
	}
	var got []generation
	err := all(t, assemble(t, coroutines), gotrace.Options{MarkPrefix: "otelgc/"}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		now := generation{Tracks: layOut(g), Turns: append([]gotrace.Turn(nil), g.Turns...)}
		for _, t := range g.Tracks {
			now.Most = append(now.Most, t.Most)
		}
		got = append(got, now)
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("generations (-want +got):\n%s", diff)
	}
}

// TestCoroutineUnknown: where it is not known who stands in for a goroutine,
// nothing is known of it until it goes on itself.
func TestCoroutineUnknown(t *testing.T) {
	// The first generation is missing: 1 waits for 7, which nobody follows.
	_, second, _ := strings.Cut(coroutines, "@gen 2")
	text := "@gen 2" + strings.Replace(second, "GoSwitch dt=10 g=7", "UserLog dt=0 task=0 key_string=3 value_string=0 stack=0\nGoSwitch dt=10 g=7", 1)
	var got []laid
	err := all(t, assemble(t, text), gotrace.Options{MarkPrefix: "otelgc/"}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		got = append(got, layOut(g)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []laid{{Goroutine: 1, Spans: []gotrace.TrackSpan{span(230, 260, stall.StateRunning, "")}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tracks (-want +got):\n%s", diff)
	}
}

// parkedLast holds goroutine 1, which switches to 7, which parks: that is the last
// that happens in the generation.
const parkedLast = `
@gen 1
@m 1 100
GoStatus dt=0 g=1 m=1 gstatus=2
UserLog dt=0 task=0 key_string=3 value_string=0 stack=0
GoCreateBlocked dt=10 new_g=7 new_stack=0 stack=0
GoSwitch dt=10 g=7 g_seq=1
GoBlock dt=10 reason_string=1 stack=0
@tables
Stacks
` + reasons + `
@end
@gen 2
@m 2 150
GoStatus dt=0 g=7 m=18446744073709551615 gstatus=4
GoStatus dt=0 g=1 m=18446744073709551615 gstatus=4
GoUnblock dt=10 g=7 g_seq=1 stack=0
GoStart dt=10 g=7 g_seq=2
GoSwitch dt=10 g=1 g_seq=1
GoStop dt=10 reason_string=5 stack=0
@tables
Stacks
` + reasons + `
@end
`

// TestCoroutineParkedLast: that the coroutine parked, and why, is known in the next
// generation, whose status of it has no reason.
func TestCoroutineParkedLast(t *testing.T) {
	var got []laid
	err := all(t, assemble(t, parkedLast), gotrace.Options{MarkPrefix: "otelgc/"}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		got = append(got, layOut(g)...)
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []laid{
		{Goroutine: 1, Spans: []gotrace.TrackSpan{span(100, 130, stall.StateRunning, "")}},
		{Goroutine: 1, Spans: []gotrace.TrackSpan{
			span(130, 160, stall.StateParked, "chan receive"), span(160, 170, stall.StateRunnable, ""), span(170, 190, stall.StateRunning, ""),
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tracks (-want +got):\n%s", diff)
	}
}

// TestPulledWork: a goroutine that only pulls from an iterator is never parked by
// its own doing, nor unseen, over several generations.
func TestPulledWork(t *testing.T) {
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
	var out bytes.Buffer
	if err := trace.Start(&out); err != nil {
		t.Skipf("skipped: tracing cannot start: %v", err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		trace.Log(context.Background(), "otelgc/pull", "")
		next, stop := iter.Pull(func(yield func(int) bool) {
			inner, stop := iter.Pull(func(yield func([]byte) bool) {
				for yield(make([]byte, 1<<12)) {
				}
			})
			defer stop()
			for {
				b, _ := inner()
				if !yield(len(b)) {
					return
				}
			}
		})
		defer stop()
		for until := time.Now().Add(1200 * time.Millisecond); time.Now().Before(until); {
			for range 100 {
				next()
			}
			runtime.Gosched() // fewer switches than there is room for
			time.Sleep(time.Millisecond)
		}
	}()
	<-done
	trace.Stop()
	var known, turns time.Duration
	var first, last stall.Instant
	err := all(t, out.Bytes(), gotrace.Options{MarkPrefix: "otelgc/"}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		for i := range g.Tracks {
			for s := range g.Tracks[i].Spans {
				if s.State == stall.StateParked && s.Reason == "" {
					t.Errorf("parked for no reason: %+v", s)
				}
				if first == 0 {
					first = s.Start
				}
				known += s.End.Sub(s.Start)
				last = s.End
			}
		}
		for _, turn := range g.Turns {
			turns += turn.Duration()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if known != last.Sub(first) {
		t.Errorf("%v are known of %v", known, last.Sub(first))
	}
	if turns == 0 {
		t.Error("no turns of coroutines")
	}
}
