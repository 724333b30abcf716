package gcwatch

import (
	"math"
	"runtime"
	"testing"
	"time"
)

// TestFinalizersAreHeldUp: a finalizer of the program forces collections and
// then blocks the one goroutine that runs them all, so that the bell is silent.
// The poll misses no cycle.
func TestFinalizersAreHeldUp(t *testing.T) {
	settle(t)
	var j journal
	stop := follow(t, start(t, Options{Clock: newClock(t), Poll: time.Millisecond}), 0, j.note)
	first := cyclesTotal()
	entered, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	runtime.SetFinalizer(&struct{ p *int }{new(int)}, func(*struct{ p *int }) {
		runtime.GC()
		close(entered)
		<-release
	})
	for found := false; !found; {
		runtime.GC()
		select {
		case <-entered:
			found = true
		case <-time.After(time.Millisecond):
		}
	}
	for range 10 {
		runtime.GC()
	}
	want := cyclesTotal() - first
	stop()
	if j.cycles != want {
		t.Errorf("got %d cycles, want %d", j.cycles, want)
	}
}

// TestCountersWrap: the runtime counts cycles in 32 bits, and after the wrap
// shows only as many of its ring as it counts.
func TestCountersWrap(t *testing.T) {
	settle(t)
	runtime.GC()
	runtime.GC()
	w := steady(t)
	w.prev.cycles, w.cur.cycles = math.MaxUint32-1, 2
	w.prev.forced, w.cur.forced = math.MaxUint32, 1
	w.index, w.automatic = math.MaxUint32-1, math.MaxUint32-1-1000
	w.reader.later, w.reader.stats.Pause = 0, w.reader.stats.Pause[:2]
	w.reset()
	w.seen.Cycles = uint64(w.cur.cycles - w.prev.cycles)
	w.collect(pending)
	w.totals()
	list, sum := w.batch.Collections, 0
	for _, c := range list {
		sum += c.Cycles
	}
	if len(list) != 3 || sum != 4 || list[0].Cycles != 2 || list[2].Index != math.MaxUint32+3 {
		t.Errorf("got %+v, want two cycles in one record and two of their own", list)
	}
	got := w.seen.Totals
	if got.Cycles != math.MaxUint32+3 || got.Forced != 1002 || got.Automatic+got.Forced != got.Cycles || got.Missed != 2 {
		t.Errorf("totals: got %+v", got)
	}
}
