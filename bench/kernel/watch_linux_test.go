package kernel

import (
	"errors"
	"io/fs"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

func skipWithout(t *testing.T, err error) {
	t.Helper()
	switch {
	case errors.Is(err, stall.ErrNotSupported), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
}

// TestWatchProcess has the runtime's own word on a collection: two stops of the world,
// with reason and begin.
func TestWatchProcess(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	w, err := WatchProcess("runtime.startTheWorldWithSema")
	skipWithout(t, err)
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	const collections = 5
	from := clock.Now()
	for range collections {
		runtime.GC()
	}
	to := clock.Now()
	reasons := map[uint8]int{}
	last := stall.Instant(0)
	if err := w.Read(func(h Hit) {
		begun := stall.Instant(h.CX).Add(-clock.Namespace())
		if h.At < last || h.At > to || begun < from || begun >= h.At {
			t.Errorf("stop from %d to %d; the one before to %d; all within %d and %d", begun, h.At, last, from, to)
		}
		last = h.At
		reasons[uint8(h.BX)]++
	}); err != nil {
		t.Fatal(err)
	}
	if reasons[1] < collections || reasons[2] < collections { // a mark termination may have to be done again
		t.Errorf("stops by reason: got %v, want %d or more for the end of marking and as many for that of sweeping", reasons, collections)
	}
	if err := w.Read(func(h Hit) { t.Errorf("reported again: %+v", h) }); err != nil {
		t.Error(err)
	}
}

// TestWatchThread hears of one thread only.
func TestWatchThread(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w, err := WatchThread(unix.Gettid(), "runtime.GC", "runtime.gosched_m")
	skipWithout(t, err)
	defer func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}()
	done := make(chan struct{})
	go func() { runtime.GC(); close(done) }() // of another thread
	<-done
	if err := w.Read(func(h Hit) {
		if h.Function == 0 {
			t.Error("a call of another thread")
		}
	}); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.Gosched()
	calls := [2]int{}
	if err := w.Read(func(h Hit) { calls[h.Function]++ }); err != nil {
		t.Fatal(err)
	}
	if calls[0] != 1 || calls[1] == 0 {
		t.Errorf("calls of runtime.GC and runtime.gosched_m: got %v, want 1 and some", calls)
	}
}

func TestFunctionThatIsNotThere(t *testing.T) {
	if w, err := WatchProcess("runtime.noSuchFunction"); err == nil {
		t.Errorf("watch %+v, want an error; close: %v", w, w.Close())
	}
}
