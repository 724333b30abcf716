package target

import (
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
	"github.com/otelgc/otelgc/stall"
)

func thread(id int, name string, cpu time.Duration, created uint64) proc.Stat {
	return proc.Stat{ID: id, Name: name, CPU: cpu, Created: created}
}

// TestGCThreads counts from the first look, or from when a thread was made, and
// keeps what was read of one that ended.
func TestGCThreads(t *testing.T) {
	madeAt := func(ticks uint64) stall.Instant { return stall.Instant(ticks) }
	var g gcThreads
	if g.look([]proc.Stat{thread(1, "azmcp", time.Hour, 1)}, true, 100, madeAt); g.list() != nil {
		t.Errorf("got %v of a process without such threads", g.list())
	}
	g = gcThreads{}
	g.look([]proc.Stat{thread(1, "azmcp", time.Hour, 1), thread(2, serverThread, time.Second, 2), thread(3, serverThread, 0, 2)}, true, 100, madeAt)
	g.look([]proc.Stat{
		thread(2, serverThread, time.Second+20, 2), thread(4, backgroundThread, 30, 150), thread(3, serverThread, 5, 160),
	}, true, 200, madeAt)
	g.look([]proc.Stat{thread(2, serverThread, time.Second+40, 2), thread(3, serverThread, 7, 160)}, true, 300, madeAt)
	want := []GCThread{
		{Thread: 4, Name: backgroundThread, CPU: 30, Elapsed: 50, Ended: true},
		{Thread: 2, Name: serverThread, CPU: 40, Elapsed: 200},
		{Thread: 3, Name: serverThread, CPU: 0, Elapsed: 0, Ended: true},
		{Thread: 3, Name: serverThread, CPU: 7, Elapsed: 140}, // another of that number
	}
	if diff := cmp.Diff(want, g.list()); diff != "" {
		t.Errorf("threads (-want +got):\n%s", diff)
	}
}

// TestGCThreadsAreBounded keeps no more than the limit.
func TestGCThreadsAreBounded(t *testing.T) {
	var g gcThreads
	for i := range 3 * maxGCThreads / 1000 {
		var list []proc.Stat
		for id := range 1000 {
			list = append(list, thread(id, serverThread, 0, uint64(i)))
		}
		g.look(list, true, stall.Instant(100+i), func(uint64) stall.Instant { return 1 })
	}
	// Of the third thousand 48 have a place, and of the others none.
	if len(g.list()) != maxGCThreads || g.left != 1000 {
		t.Errorf("%d threads kept, %d left, want %d and 1000", len(g.list()), g.left, maxGCThreads)
	}
}

// TestPartOfTheThreads: what a look at a part of the threads did not find may be
// there still, and that is said.
func TestPartOfTheThreads(t *testing.T) {
	root := t.TempDir()
	proc := dotnetipc.Proc{Root: root}
	put := func(id int, stat string) {
		dir := filepath.Join(root, "7", "task", strconv.Itoa(id))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server := "8 (.NET Server GC) S 1 7 7 0 -1 0 0 0 0 0 2 0 0 0 20 0 9 0 1 0"
	put(8, server)
	p := &process{Options: dotnet.Options{ID: dotnetipc.Identity{PID: 7}}, proc: proc}
	look := func() *Summary {
		p.lookAtThreads(1 << 40)
		return &p.summary
	}
	if s := look(); s.GCThreadsPartly || len(s.GCThreads) != 1 {
		t.Errorf("of a whole list: got %+v, partly %v", s.GCThreads, s.GCThreadsPartly)
	}
	put(8, "cannot be read")
	put(9, "9 (shop) S 1 7 7 0 -1 0 0 0 0 0 2 0 0 0 20 0 9 0 1 0")
	if s := look(); s.GCThreads[0].Ended || !s.GCThreadsPartly {
		t.Errorf("of a part: got %+v, partly %v", s.GCThreads, s.GCThreadsPartly)
	}
	if err := os.RemoveAll(filepath.Join(root, "7", "task", "8")); err != nil {
		t.Fatal(err)
	}
	if s := look(); !s.GCThreads[0].Ended {
		t.Errorf("of a whole list without it: got %+v", s.GCThreads)
	}
	if got := p.configuration(t.Context(), nil, dotnetipc.ProcessInfo{}); len(got.threads) != 1 {
		t.Errorf("configuration: %d threads, want 1", len(got.threads))
	}
	put(8, "cannot be read")
	p.log = slog.New(slog.DiscardHandler)
	if got := p.configuration(t.Context(), nil, dotnetipc.ProcessInfo{}); got.threads != nil {
		t.Errorf("configuration by a part of the threads: %v", got.threads)
	}
}

// TestManyThreads: a list of as many as are looked at is whole, of more it is not.
func TestManyThreads(t *testing.T) {
	root := t.TempDir()
	for id := 1; id <= maxThreads+1; id++ { // of which none can be opened: they ended
		if err := os.MkdirAll(filepath.Join(root, "7", "task", strconv.Itoa(id)), 0o755); err != nil {
			t.Fatal(err)
		}
		if id < maxThreads {
			continue
		}
		if _, whole, err := threadsOf(dotnetipc.Proc{Root: root}, 7); err != nil || whole != (id == maxThreads) {
			t.Errorf("%d threads: whole %v, %v", id, whole, err)
		}
	}
}
