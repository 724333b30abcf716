package target

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/stall"
)

// TestGCThreads counts from the first look, or from when a thread was made, and
// keeps what was read of one that ended.
func TestGCThreads(t *testing.T) {
	madeAt := func(ticks uint64) stall.Instant { return stall.Instant(ticks) }
	var g gcThreads
	if g.look([]thread{{1, "azmcp", time.Hour, 1}}, 100, madeAt); g.list() != nil {
		t.Errorf("got %v of a process without such threads", g.list())
	}
	g = gcThreads{}
	g.look([]thread{{1, "azmcp", time.Hour, 1}, {2, serverThread, time.Second, 2}, {3, serverThread, 0, 2}}, 100, madeAt)
	g.look([]thread{
		{2, serverThread, time.Second + 20, 2}, {4, backgroundThread, 30, 150}, {3, serverThread, 5, 160},
	}, 200, madeAt)
	g.look([]thread{{2, serverThread, time.Second + 40, 2}, {3, serverThread, 7, 160}}, 300, madeAt)
	want := []GCThread{
		{Thread: 4, Name: backgroundThread, CPU: 30, Elapsed: 50, Ended: true},
		{Thread: 2, Name: serverThread, CPU: 40, Elapsed: 200},
		{Thread: 3, Name: serverThread, CPU: 0, Elapsed: 0, Ended: true},
		{Thread: 3, Name: serverThread, CPU: 7, Elapsed: 140}, // another of that number
	}
	if diff := cmp.Diff(want, g.list()); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
	if got := sayGCThreads(g.list()); !strings.Contains(got, "3 .NET Server GC: 47ns of CPU, the oldest in 0s, 1 of them ended") {
		t.Errorf("got %q", got)
	}
	if got := sayGCThreads(nil); !strings.Contains(got, "the program's own threads collect") {
		t.Errorf("of none: got %q", got)
	}
}

// TestGCThreadsAreBounded keeps no more than the limit.
func TestGCThreadsAreBounded(t *testing.T) {
	var g gcThreads
	for i := range 3 * maxGCThreads / 1000 {
		var list []thread
		for id := range 1000 {
			list = append(list, thread{id, serverThread, 0, uint64(i)})
		}
		g.look(list, stall.Instant(100+i), func(uint64) stall.Instant { return 1 })
	}
	if len(g.list()) != maxGCThreads || g.left == 0 {
		t.Errorf("%d threads kept, %d left", len(g.list()), g.left)
	}
}
