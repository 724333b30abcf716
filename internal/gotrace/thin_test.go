package gotrace_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// yields has a goroutine yield n times on the thread of its number, as runtime.GC
// does while it sweeps, in two nanoseconds each.
func yields(g, at, firstSeq, n int) string {
	var b strings.Builder
	for i := range n {
		if i%4000 == 0 {
			fmt.Fprintf(&b, "@m %d %d\n", g, at+2*i)
		}
		fmt.Fprintf(&b, "GoStop dt=1 reason_string=5 stack=0\nGoStart dt=1 g=%d g_seq=%d\n", g, firstSeq+i)
	}
	return b.String()
}

// TestThin: over the limit, the changes of a goroutine that nobody follows go,
// and those of a followed one are known to the last. Where some of its own went,
// its track begins where nothing is missing any more.
func TestThin(t *testing.T) {
	const (
		flood = 20_000 // 40,000 changes
		one   = "@gen 1\n@m 1 100\nGoStatus dt=0 g=1 m=1 gstatus=2\n"
		two   = "@m 2 100\nGoStatus dt=0 g=2 m=2 gstatus=2\n"
		task  = "UserTaskBegin dt=0 task=9 parent_task=0 name_string=3 stack=0\n"
		log   = "UserLog dt=0 task=0 key_string=3 value_string=0 stack=0\n"
		block = "GoBlock dt=10 reason_string=1 stack=0\n"
	)
	running, runnable, parked := stall.StateRunning, stall.StateRunnable, stall.StateParked
	for _, c := range []struct {
		name, text string
		want       []laid
		lost       gotrace.Lost
	}{
		{
			"another yields",
			one + log + block + two + yields(2, 100, 1, flood) + "GoUnblock dt=0 g=1 g_seq=1 stack=0\n" + yields(2, 40100, flood+1, flood) +
				"@m 1 90000\nGoStart dt=0 g=1 g_seq=2\n" + block,
			[]laid{{Goroutine: 1, Spans: []gotrace.TrackSpan{
				span(100, 110, running, ""), span(110, 40100, parked, "chan receive"), span(40100, 90000, runnable, ""), span(90000, 90010, running, ""),
			}}},
			gotrace.Lost{},
		},
		{
			"another yields, and a task",
			one + task + block + two + yields(2, 100, 1, 2*flood) + "GoUnblock dt=0 g=1 g_seq=1 stack=0\n",
			[]laid{{Goroutine: 1, Spans: []gotrace.TrackSpan{span(100, 110, running, ""), span(110, 80100, parked, "chan receive")}}},
			gotrace.Lost{},
		},
		{
			"marked only after its changes went",
			one + block + two + "GoUnblock dt=20 g=1 g_seq=1 stack=0\n@m 1 150\nGoStart dt=0 g=1 g_seq=2\n" + yields(2, 200, 1, flood) +
				"@m 1 50000\n" + log + block + "@m 2 60000\nGoUnblock dt=0 g=1 g_seq=3 stack=0\n" + "@m 1 70000\nGoStart dt=0 g=1 g_seq=4\n" + block,
			[]laid{{Goroutine: 1, Spans: []gotrace.TrackSpan{
				span(60000, 70000, runnable, ""), span(70000, 70010, running, ""),
			}}},
			gotrace.Lost{Tracks: 1},
		},
		{
			"it yields itself",
			one + log + yields(1, 100, 1, 8191) + block + "@m 2 20000\n" + "GoUnblock dt=0 g=1 g_seq=8192 stack=0\n@m 1 20010\nGoStart dt=0 g=1 g_seq=8193\n" + block,
			[]laid{{Goroutine: 1, Spans: []gotrace.TrackSpan{
				span(20000, 20010, runnable, ""), span(20010, 20020, running, ""),
			}}},
			gotrace.Lost{Tracks: 1},
		},
		{
			"it does nothing else",
			one + log + yields(1, 100, 1, 8191) + "GoSyscallBegin dt=1 p_seq=1 stack=0\nGoSyscallEnd dt=1\n",
			nil,
			gotrace.Lost{Tracks: 1},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := gotrace.Options{Limits: gotrace.Limits{Transitions: 16384}, MarkPrefix: "otelgc/", Tasks: true}
			n := 0
			err := all(t, assemble(t, c.text+reasons+"@end"), o, func(_ *gotrace.Reader, g *gotrace.Generation) {
				n++
				if diff := cmp.Diff(c.want, layOut(g)); diff != "" {
					t.Errorf("tracks (-want +got):\n%s", diff)
				}
				if g.Lost != c.lost || g.Truncated != c.lost.Any() {
					t.Errorf("lost %+v, want %+v", g.Lost, c.lost)
				}
			})
			if err != nil || n != 1 {
				t.Fatalf("%d generations, %v", n, err)
			}
		})
	}
}

// TestThinIsNotEnough: where very many followed goroutines change their state,
// the generation has no tracks, and says so.
func TestThinIsNotEnough(t *testing.T) {
	var b strings.Builder
	b.WriteString("@gen 1\n")
	const goroutines, each = 20, 1000
	for g := 1; g <= goroutines; g++ {
		fmt.Fprintf(&b, "@m %d 100\nGoStatus dt=0 g=%d m=%d gstatus=2\n", g, g, g)
		b.WriteString("UserLog dt=0 task=0 key_string=3 value_string=0 stack=0\n" + yields(g, 100, 1, each/2))
	}
	data := assemble(t, b.String()+reasons+"@end")
	for _, noTracks := range []bool{false, true} {
		o := gotrace.Options{Limits: gotrace.Limits{Transitions: 16384}, MarkPrefix: "otelgc/", NoTracks: noTracks}
		err := all(t, data, o, func(_ *gotrace.Reader, g *gotrace.Generation) {
			if len(g.Tracks) != 0 || g.Lost.Transitions == 0 == !noTracks || len(g.Marks) != goroutines {
				t.Errorf("no tracks wanted: %v: %d tracks, %d marks, lost %+v", noTracks, len(g.Tracks), len(g.Marks), g.Lost)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
