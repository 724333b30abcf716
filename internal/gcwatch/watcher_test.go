package gcwatch

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newClock(t testing.TB) stall.Clock {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return clock
}

func cyclesTotal() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// settle makes sure that no cycle is in progress and none is due.
func settle(t testing.TB) {
	t.Helper()
	old := debug.SetGCPercent(-1)
	runtime.GC()
	t.Cleanup(func() { debug.SetGCPercent(old) })
}

// journal keeps what notices said.
type journal struct {
	mu          sync.Mutex
	cycles      uint64
	collections []gc.Collection
	suspensions []stall.Interval
	unseen      []stall.Span
	marks       []stall.Instant
	notices     int
	gcPauses    uint64
	last        Totals
}

func (j *journal) note(n *Notice) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.notices++
	j.cycles += n.Cycles
	for i := range n.Collections {
		j.collections = append(j.collections, n.Collections[i].Clone())
	}
	j.suspensions = append(j.suspensions, n.Suspensions...)
	j.unseen = append(j.unseen, n.Unseen...)
	j.marks = append(j.marks, n.Watermark)
	for _, b := range n.GCPauses {
		j.gcPauses += b.Count
	}
	j.last = n.Totals
}

var garbage [64][]byte

// allocate makes the heap grow and die until cycles more cycles are over.
func allocate(cycles uint64) {
	for end := cyclesTotal() + cycles; cyclesTotal() < end; {
		for i := range 4096 {
			garbage[i%len(garbage)] = make([]byte, 4096)
		}
	}
}

func TestNoCycleIsMissed(t *testing.T) {
	const forced, automatic = 2000, 100
	clock := newClock(t)
	runtime.GC()
	var j journal
	w, err := Start(Options{Clock: clock, OnNotice: j.note})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	from := clock.Now()
	w.Flush()
	var before, after debug.GCStats
	debug.ReadGCStats(&before)
	j.mu.Lock()
	first := j.last.Cycles
	seen := len(j.collections)
	j.mu.Unlock()
	if uint64(before.NumGC) != first {
		t.Skipf("a cycle ended between a reading of the watcher (%d) and one of the test (%d)", first, before.NumGC)
	}

	for range forced {
		runtime.GC()
	}
	allocate(automatic)
	w.Stop()
	debug.ReadGCStats(&after)
	to := clock.Now()

	if got := uint64(after.NumGC) - j.last.Cycles; got > 1 {
		t.Fatalf("cycles that ended after Stop: got %d, want at most one that the storm left behind", got)
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
	t.Logf("%d cycles in %d notices, %d spans unseen", len(j.collections)-seen, j.notices, len(j.unseen))
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

func TestFlushKnowsForcedCycle(t *testing.T) {
	settle(t)
	var j journal
	w, err := Start(Options{Clock: newClock(t), Poll: time.Hour, OnNotice: j.note})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	w.Flush()
	runtime.GC()
	w.Flush()
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.collections) != 1 {
		t.Fatalf("collections: got %d, want 1", len(j.collections))
	}
	c := j.collections[0]
	if c.Trigger != gc.TriggerForced || c.Cycles != 1 || c.Source != stall.GCWatch || c.Fidelity != stall.Cycle {
		t.Errorf("got %+v", c)
	}
	if want := KindOf(os.Getenv("GODEBUG")); c.Kind != want {
		t.Errorf("kind: got %v, want %v", c.Kind, want)
	}
	if v, ok := c.Promoted.Get(); !ok || v == 0 {
		t.Error("promoted bytes: not known")
	}
	if !c.Estimated.Has(gc.FieldHeapBefore | gc.FieldPauses) {
		t.Errorf("estimated: got %v", c.Estimated.Names())
	}
	if runtime.GOOS == "linux" && c.PauseUtilization.IsZero() {
		t.Error("pause utilization: not known")
	}
	if c.PauseTotal() <= 0 {
		t.Error("pause total: zero")
	}
}

func TestSuspensionIsEnclosed(t *testing.T) {
	settle(t)
	clock := newClock(t)
	var j journal
	w, err := Start(Options{Clock: clock, Poll: time.Hour, OnNotice: j.note})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	w.Flush()
	from := clock.Now()
	const stops = 5
	for range stops {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
	}
	to := clock.Now()
	w.Stop()
	if len(j.suspensions) != stops {
		t.Fatalf("suspensions: got %d, want %d", len(j.suspensions), stops)
	}
	for _, s := range j.suspensions {
		if s.Cause != stall.RuntimeSuspension || s.Start.Add(-s.Slack) > from || s.End.Add(s.Slack) < to {
			t.Errorf("got %+v, want one that reaches from %d to %d with its slack", s, from, to)
		}
	}
}

func TestWatermarkAdvancesWithoutCycles(t *testing.T) {
	settle(t)
	clock := newClock(t)
	var j journal
	w, err := Start(Options{Clock: clock, Poll: time.Hour, OnNotice: j.note})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for range 10 {
		from := clock.Now()
		w.Flush()
		j.mu.Lock()
		if mark := j.marks[len(j.marks)-1]; mark < from {
			t.Errorf("watermark: got %v before the flush began", from.Sub(mark))
		}
		j.mu.Unlock()
	}
	w.Stop()
	for i := 1; i < len(j.marks); i++ {
		if j.marks[i] < j.marks[i-1] {
			t.Errorf("watermark %d went back", i)
		}
	}
}

func TestStop(t *testing.T) {
	settle(t)
	var j journal
	w, err := Start(Options{Clock: newClock(t), Poll: time.Hour, OnNotice: j.note})
	if err != nil {
		t.Fatal(err)
	}
	first := cyclesTotal()
	runtime.GC()
	w.Stop()
	if got, want := j.cycles, cyclesTotal()-first; got != want {
		t.Errorf("cycles: got %d, want %d", got, want)
	}
	n := j.notices
	w.Stop()
	w.Flush()
	for range 3 {
		runtime.GC()
	}
	if j.notices != n {
		t.Errorf("notices after Stop: got %d, want none", j.notices-n)
	}
	if got := len(w.bell.rung); got > 1 {
		t.Errorf("rings: got %d", got)
	}
}

func TestStartRefuses(t *testing.T) {
	note := func(*Notice) {}
	for _, o := range []Options{{}, {OnNotice: note}, {Clock: newClock(t)}, {Clock: newClock(t), OnNotice: note, Poll: -1}} {
		if w, err := Start(o); err == nil {
			w.Stop()
			t.Errorf("Start(%+v): no error", o)
		}
	}
}

// steady is a watcher without its goroutine, so that a test can drive it.
func steady(t testing.TB, note func(*Notice)) *Watcher {
	w, err := newWatcher(Options{Clock: newClock(t), OnNotice: note})
	if err != nil {
		t.Fatal(err)
	}
	w.begin()
	w.deliver()
	return w
}

func TestNoticeDoesNotAllocate(t *testing.T) {
	settle(t)
	var cycles uint64
	w := steady(t, func(n *Notice) { cycles += n.Cycles })
	cycle := func() { runtime.GC(); w.deliver() }
	for range 20 {
		cycle() // grows what it keeps
	}
	// runtime.GC and the tests' own goroutines may allocate now and then.
	if got := testing.AllocsPerRun(50, cycle); got != 0 {
		t.Errorf("allocations per notice of a cycle: got %v, want 0", got)
	}
	if got := testing.AllocsPerRun(50, w.deliver); got != 0 {
		t.Errorf("allocations per poll: got %v, want 0", got)
	}
	if cycles < 70 {
		t.Errorf("cycles: got %d, want at least 70", cycles)
	}
}

func TestOverflowOfTheRing(t *testing.T) {
	settle(t)
	var j journal
	w := steady(t, j.note)
	const k = ringSize + 10
	for range k {
		runtime.GC()
	}
	w.deliver()
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
