package gcwatch

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestNoCycleIsMissed(t *testing.T) {
	const forced, automatic = 2000, 100
	clock := newClock(t)
	runtime.GC()
	var j journal
	w := start(t, Options{Clock: clock})
	from := clock.Now()
	j.look(t, w)
	var before, after debug.GCStats
	debug.ReadGCStats(&before)
	first := j.last.Cycles
	seen := len(j.collections)
	stop := follow(t, w, 0, j.note)
	if uint64(before.NumGC) != first {
		t.Skipf("a cycle ended between a reading of the watcher (%d) and one of the test (%d)", first, before.NumGC)
	}

	for range forced {
		runtime.GC()
	}
	allocate(automatic)
	stop()
	debug.ReadGCStats(&after)
	to := clock.Now()

	if got := uint64(after.NumGC) - j.last.Cycles; got > 1 {
		t.Fatalf("cycles that ended after Close: got %d, want at most one that the storm left behind", got)
	}
	checkCollections(t, j.collections[seen:], first, j.last.Cycles, stall.Span{Start: from, End: to})
	var sum time.Duration
	for _, c := range j.collections[seen:] {
		sum += c.PauseTotal()
	}
	want := after.PauseTotal - before.PauseTotal
	if uint64(after.NumGC) != j.last.Cycles {
		want -= after.Pause[0]
	}
	if sum != want && j.last.Missed == 0 {
		t.Errorf("sum of the pauses: got %v, want %v", sum, want)
	}
	t.Logf("%d cycles in %d batches, %d spans unseen", len(j.collections)-seen, j.batches, len(j.unseen))
}

func checkCollections(t *testing.T, list []gc.Collection, first, last uint64, run stall.Span) {
	t.Helper()
	index, end := first, run.Start
	split := 0
	for _, c := range list {
		index += uint64(c.Cycles)
		if c.Index != index {
			t.Fatalf("index: got %d, want %d", c.Index, index)
		}
		if len(c.Pauses) == 0 {
			continue // an overflow of the ring
		}
		got, ok := c.End.Get()
		if !ok || got <= end || got > run.End {
			t.Fatalf("end of cycle %d: got %d, want in (%d, %d]", index, got, end, run.End)
		}
		end = got
		if len(c.Pauses) == 2 {
			split++
		}
		for _, p := range c.Pauses {
			if p.End < p.Start || p.EndMax < p.End || p.Slack <= 0 {
				t.Errorf("pause of cycle %d: %+v", index, p)
			}
		}
	}
	if index != last {
		t.Fatalf("last index: got %d, want %d", index, last)
	}
	if split == 0 {
		t.Error("no cycle had its two pauses told apart")
	}
	t.Logf("%d of %d cycles with both pauses", split, len(list))
}

// steady is a watcher whose looks a test takes itself.
func steady(t testing.TB) *Watcher {
	w, err := newWatcher(Options{Clock: newClock(t)})
	if err != nil {
		t.Fatal(err)
	}
	w.begin()
	w.look()
	return w
}

func TestLookDoesNotAllocate(t *testing.T) {
	settle(t)
	var cycles uint64
	w := steady(t)
	cycle := func() { runtime.GC(); w.look(); cycles += w.seen.Cycles }
	for range 20 {
		cycle() // grows what it keeps
	}
	// runtime.GC and the tests' own goroutines may allocate now and then.
	if got := testing.AllocsPerRun(50, cycle); got != 0 {
		t.Errorf("allocations per look at a cycle: got %v, want 0", got)
	}
	if got := testing.AllocsPerRun(50, w.look); got != 0 {
		t.Errorf("allocations per poll: got %v, want 0", got)
	}
	if cycles < 70 {
		t.Errorf("cycles: got %d, want at least 70", cycles)
	}
}

func TestOverflowOfTheRing(t *testing.T) {
	settle(t)
	var j journal
	w := steady(t)
	const k = ringSize + 10
	for range k {
		runtime.GC()
	}
	w.look()
	j.note(&w.batch, &w.seen)
	if j.cycles != k || len(j.collections) != ringSize+1 {
		t.Fatalf("got %d cycles in %d records, want %d in %d", j.cycles, len(j.collections), k, ringSize+1)
	}
	if c := j.collections[0]; c.Cycles != k-ringSize || c.Pauses != nil || !c.End.IsZero() {
		t.Errorf("overflow: got %+v", c)
	}
	if got := j.last.Missed; got != k-ringSize {
		t.Errorf("missed: got %d, want %d", got, k-ringSize)
	}
	if len(j.unseen) == 0 {
		t.Error("unseen: nothing is named")
	}
	if got, want := j.collections[len(j.collections)-1].Index, cyclesTotal(); got != want {
		t.Errorf("index: got %d, want %d", got, want)
	}
}
