package watch_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWatch holds a watch to its promise: at each tick every gap of the
// snapshot has been told.
func TestWatch(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	var told, ticks atomic.Uint64
	path := filepath.Join(t.TempDir(), "board")
	w, err := watch.Start(watch.Options{
		Start: func(onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error) {
			return jitterprobe.Start(jitterprobe.Options{Clock: clock, Threshold: 10 * time.Microsecond, OnGap: onGap})
		},
		Board: path, NeedBoard: clock.Shared(), Clock: clock,
		OnGap: func(jitterprobe.Gap) { told.Add(1) },
		OnTick: func(s jitterprobe.Snapshot) {
			ticks.Add(1)
			if n := told.Load(); n < s.Gaps {
				t.Errorf("%d gaps told, the snapshot has %d", n, s.Gaps)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if ok, why := w.Board(); ok != clock.Shared() {
		t.Errorf("board: %v (%s)", ok, why)
	}
	for ticks.Load() < 3 {
		time.Sleep(time.Millisecond)
	}
	first, err := w.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if first.Observed() <= 0 || first.Gaps != told.Load() {
		t.Errorf("observed %v, %d gaps, %d told", first.Observed(), first.Gaps, told.Load())
	}
	if again, err := w.Stop(); err != nil || again.Watermark != first.Watermark {
		t.Errorf("second Stop: %+v, %v", again, err)
	}
}

func TestWatchWithoutABoardItNeeds(t *testing.T) {
	_, err := watch.Start(watch.Options{
		Start: func(onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error) {
			return jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic, OnGap: onGap})
		},
		Board: "/proc/otelgc/board", NeedBoard: true,
	})
	if err == nil {
		t.Error("Start with a board under /proc: no error")
	}
}
