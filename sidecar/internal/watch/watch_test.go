package watch_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) { noleak.Main(m) }

func probe(t *testing.T, o jitterprobe.Options) *jitterprobe.Probe {
	t.Helper()
	p, err := jitterprobe.Start(o)
	if errors.Is(err, jitterprobe.ErrCPU) {
		t.Skipf("needs CPUs 0 and 1: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

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
		Probe:  probe(t, jitterprobe.Options{Clock: clock, Threshold: 10 * time.Microsecond}),
		Boards: []string{path}, NeedBoard: clock.Shared(), Clock: clock,
		OnGap: func(jitterprobe.Gap) { told.Add(1) },
		OnTick: func(s jitterprobe.Snapshot, _ []jitterprobe.Snapshot) {
			ticks.Add(1)
			if n := told.Load(); n < s.Gaps {
				t.Errorf("%d gaps told, the snapshot has %d", n, s.Gaps)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if at, why := w.Board(); (at == path) != clock.Shared() {
		t.Errorf("board: %q (%s)", at, why)
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
		Probe:  probe(t, jitterprobe.Options{Mode: jitterprobe.Periodic}),
		Boards: []string{"/proc/otelgc/board"}, NeedBoard: true,
	})
	if err == nil {
		t.Error("Start with a board under /proc: no error")
	}
}

// TestSeveral: a probe per CPU, one board, one watermark, and gaps that come one
// at a time.
func TestSeveral(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	var inside, ticks atomic.Int64
	var cpus atomic.Int64 // a bit per CPU that had a gap
	path := filepath.Join(t.TempDir(), "board")
	first := probe(t, jitterprobe.Options{Clock: clock, Threshold: 5 * time.Microsecond})
	var others []*jitterprobe.Probe
	for cpu := range 2 {
		if cpu != first.CPU() {
			others = append(others, probe(t, jitterprobe.Options{Mode: jitterprobe.Periodic, CPU: &cpu, Clock: clock, Threshold: 5 * time.Microsecond}))
		}
	}
	w, err := watch.Start(watch.Options{
		Probe: first, Others: others,
		Boards: []string{path}, NeedBoard: clock.Shared(), Clock: clock,
		OnGap: func(g jitterprobe.Gap) {
			if inside.Add(1) != 1 {
				t.Error("two gaps at once")
			}
			if g.CPU >= 0 {
				cpus.Store(cpus.Load() | 1<<g.CPU)
			}
			inside.Add(-1)
		},
		OnTick: func(s jitterprobe.Snapshot, others []jitterprobe.Snapshot) {
			ticks.Add(1)
			for i := range others {
				if b := others[i].Watermark; b == 0 || s.Watermark > b {
					t.Errorf("watermark %d is ahead of another's, %d", s.Watermark, b)
				}
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	_, all := w.Others()
	if runtime.NumCPU() == 2 && !all {
		t.Error("both CPUs have a probe: not all")
	}
	for ticks.Load() < 3 || cpus.Load()&3 != 3 {
		time.Sleep(time.Millisecond)
	}
	if _, err := w.Stop(); err != nil {
		t.Fatal(err)
	}
}
