package gotrace_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/internal/gotrace/gotracetest"
	"github.com/otelgc/otelgc/stall"
)

// assemble makes a trace of Go 1.26 whose ticks are nanoseconds of the shared
// clock. In the text, "@gen N" begins a generation, "@m N T" a batch of thread
// N at time T, and "@end" ends the generation.
func assemble(t testing.TB, text string) []byte {
	t.Helper()
	const tracer = "18446744073709551615"
	out := []string{"Trace Go1.26"}
	generation := ""
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case f[0] == "@gen":
			generation = f[1]
			out = append(out, "EventBatch gen="+generation+" m="+tracer+" time=100 size=auto",
				"Sync", "Frequency freq=1000000000", "ClockSnapshot dt=0 mono=100 sec=1 nsec=1")
		case f[0] == "@m":
			out = append(out, fmt.Sprintf("EventBatch gen=%s m=%s time=%s size=auto", generation, f[1], f[2]))
		case f[0] == "@tables":
			out = append(out, "EventBatch gen="+generation+" m="+tracer+" time=0 size=auto")
		case f[0] == "@end":
			out = append(out, "EndOfGeneration")
		default:
			out = append(out, line)
		}
	}
	data, err := gotracetest.Assemble(strings.Join(out, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const reasons = `
@tables
Strings
String id=1
data="chan receive"
String id=2
data="GC mark assist wait for work"
String id=3
data="otelgc/1"
String id=4
data="GC (dedicated)"
String id=5
data="preempted"
`

// twoGenerations holds a goroutine that is created on thread 1, parks in an
// assist, goes on on thread 2, whose batch comes first in the stream, and is
// parked again at the end of the first generation.
const twoGenerations = `
@gen 1
@m 2 200
GoStart dt=20 g=7 g_seq=3
GCMarkAssistEnd dt=5
GoSyscallBegin dt=5 p_seq=1 stack=0
GoSyscallEnd dt=10
GoBlock dt=10 reason_string=1 stack=0
@m 1 100
GoStatus dt=0 g=1 m=1 gstatus=2
GoCreate dt=10 new_g=7 new_stack=0 stack=0
GoBlock dt=5 reason_string=1 stack=0
GoStart dt=5 g=7 g_seq=1
UserLog dt=1 task=0 key_string=3 value_string=0 stack=0
GCMarkAssistBegin dt=4 stack=0
GoBlock dt=10 reason_string=2 stack=0
GoUnblock dt=65 g=7 g_seq=2 stack=0
@m 3 100
GoStart dt=100 g=9 g_seq=1
GoLabel dt=10 label_string=4
@tables
Stacks
` + reasons + `
@end
@gen 2
@m 3 300
GoStatus dt=0 g=9 m=3 gstatus=2
GoBlock dt=50 reason_string=1 stack=0
@m 1 300
GoStatus dt=0 g=7 m=18446744073709551615 gstatus=4
GoUnblock dt=20 g=7 g_seq=1 stack=0
GoStart dt=10 g=7 g_seq=2
GoDestroy dt=30
@tables
Stacks
` + reasons + `
@end
`

func span(from, to stall.Instant, state stall.State, reason string) gotrace.TrackSpan {
	return gotrace.TrackSpan{
		StateSpan: stall.StateSpan{Start: from, End: to, State: state}, Reason: reason,
		GCWait: reason == "GC mark assist wait for work",
	}
}

// laid is a track with its states.
type laid struct {
	Goroutine uint64
	Ended     bool
	Spans     []gotrace.TrackSpan
}

func layOut(g *gotrace.Generation) (tracks []laid) {
	for _, tr := range g.Tracks {
		tracks = append(tracks, laid{tr.Goroutine, tr.Ended, slices.Collect(tr.Spans)})
	}
	return tracks
}

func TestAcrossThreadsAndGenerations(t *testing.T) {
	var tracks [][]laid
	var ranges []gotrace.Range
	var workers []gotrace.Worker
	err := all(t, assemble(t, twoGenerations), gotrace.Options{MarkPrefix: "otelgc/"}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		tracks = append(tracks, layOut(g))
		ranges = append(ranges, g.Ranges...)
		workers = append(workers, g.Workers...)
		if g.Truncated || !g.Shared {
			t.Errorf("generation %d: lost %+v, shared %v, want nothing and true", g.Number, g.Lost, g.Shared)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]laid{
		{{Goroutine: 7, Spans: []gotrace.TrackSpan{
			span(110, 120, stall.StateRunnable, ""),
			span(120, 135, stall.StateRunning, ""),
			span(135, 200, stall.StateParked, "GC mark assist wait for work"),
			span(200, 220, stall.StateRunnable, ""),
			span(220, 230, stall.StateRunning, ""),
			span(230, 240, stall.StateParked, "syscall"),
			span(240, 250, stall.StateRunning, ""),
		}}},
		{{Goroutine: 7, Ended: true, Spans: []gotrace.TrackSpan{
			span(250, 320, stall.StateParked, "chan receive"), // the reason of the generation before
			span(320, 330, stall.StateRunnable, ""),
			span(330, 360, stall.StateRunning, ""),
		}}},
	}
	if diff := cmp.Diff(want, tracks); diff != "" {
		t.Errorf("tracks (-want +got):\n%s", diff)
	}
	wantRanges := []gotrace.Range{{Span: stall.Span{Start: 125, End: 225}, Goroutine: 7, Kind: gotrace.Assist}}
	if diff := cmp.Diff(wantRanges, ranges); diff != "" {
		t.Errorf("ranges (-want +got):\n%s", diff)
	}
	wantWorkers := []gotrace.Worker{
		{Span: stall.Span{Start: 200, End: 250}, Kind: gotrace.Dedicated, Goroutine: 9, Cut: true},
		{Span: stall.Span{Start: 250, End: 350}, Kind: gotrace.Dedicated, Goroutine: 9},
	}
	if diff := cmp.Diff(wantWorkers, workers); diff != "" {
		t.Errorf("workers (-want +got):\n%s", diff)
	}
}

func TestUnfollow(t *testing.T) {
	n := 0
	err := all(t, assemble(t, twoGenerations), gotrace.Options{MarkPrefix: "otelgc/"}, func(r *gotrace.Reader, g *gotrace.Generation) {
		if n++; n == 1 {
			if len(g.Tracks) != 1 {
				t.Errorf("got %d tracks, want that of the goroutine that is followed", len(g.Tracks))
			}
			r.Unfollow(7)
		} else if len(g.Tracks) != 0 {
			t.Errorf("got tracks %+v of a goroutine that is not followed", g.Tracks)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestHole(t *testing.T) {
	text := strings.Replace(twoGenerations, "@gen 2", "@gen 4", 1)
	n := 0
	err := all(t, assemble(t, text), gotrace.Options{MarkPrefix: "otelgc/"}, func(_ *gotrace.Reader, g *gotrace.Generation) {
		if n++; n == 2 {
			if g.Lost.Generations != 2 || !g.Truncated || g.Start != 300 {
				t.Errorf("lost %+v, starts at %d, want 2 generations and 300", g.Lost, g.Start)
			}
			if len(g.Workers) != 0 {
				t.Errorf("got workers %+v, want none: the label was in the hole", g.Workers)
			}
			if s := layOut(g)[0].Spans[0]; s.Reason != "" || s.State != stall.StateParked || s.Start != 300 {
				t.Errorf("got %+v, want a parked span without a reason from 300", s)
			}
		}
	})
	if err != nil || n != 2 {
		t.Fatalf("got %d generations and %v, want 2", n, err)
	}
}

func TestErrorPlace(t *testing.T) {
	good := assemble(t, twoGenerations)
	at := strings.Index(string(good), "chan receive")
	bad := append([]byte(nil), good...)
	bad[at-3] = 99 // the type of the string's entry: its id and length lie between
	_, err := firstError(t, bad)
	var place *gotrace.Error
	if !errors.As(err, &place) || !errors.Is(err, gotrace.ErrFormat) || place.Offset != int64(at-3) {
		t.Errorf("got %v, want a broken trace at byte %d", err, at-3)
	}
}

func firstError(t *testing.T, data []byte) (n int, err error) {
	t.Helper()
	err = all(t, data, gotrace.Options{MarkPrefix: "otelgc/"}, func(*gotrace.Reader, *gotrace.Generation) { n++ })
	return n, err
}
