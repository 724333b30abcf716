package watch_test

import (
	"errors"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) { noleak.Main(m) }

// TestUnwanted: a probe that was started, has a gap to tell, and is not wanted, is
// stopped, and tells nothing.
func TestUnwanted(t *testing.T) {
	unwanted := errors.New("unwanted")
	w, err := watch.Start(watch.Options{
		Start: func(onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error) {
			telling := make(chan struct{})
			var once sync.Once
			p, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic, Threshold: 10 * time.Microsecond, OnGap: func(g jitterprobe.Gap) {
				once.Do(func() { close(telling) })
				onGap(g)
			}})
			if err != nil {
				return nil, err
			}
			<-telling
			return p, unwanted
		},
		OnGap: func(jitterprobe.Gap) { t.Error("a gap was told") },
	})
	if w != nil || !errors.Is(err, unwanted) {
		t.Errorf("got %v, %v, want %v", w, err, unwanted)
	}
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
		Start: func(onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error) {
			return jitterprobe.Start(jitterprobe.Options{Clock: clock, Threshold: 10 * time.Microsecond, OnGap: onGap})
		},
		Boards: []string{path}, NeedBoard: clock.Shared(), Clock: clock,
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
		Start: func(onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error) {
			return jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic, OnGap: onGap})
		},
		Boards: []string{"/proc/otelgc/board"}, NeedBoard: true,
	})
	if err == nil {
		t.Error("Start with a board under /proc: no error")
	}
}

// TestBeside: a probe per CPU, one board, one watermark, and gaps that come one
// at a time.
func TestBeside(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	var inside, together, ticks atomic.Int64
	var cpus atomic.Int64 // a bit per CPU that had a gap
	path := filepath.Join(t.TempDir(), "board")
	threshold := func(o jitterprobe.Options) jitterprobe.Options {
		o.Clock, o.Threshold = clock, 5*time.Microsecond
		return o
	}
	w, err := watch.Start(watch.Options{
		Start: func(onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error) {
			return jitterprobe.Start(threshold(jitterprobe.Options{OnGap: onGap}))
		},
		Beside: []int{0, 1},
		StartBeside: func(cpu int, onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error) {
			return jitterprobe.Start(threshold(jitterprobe.Options{Mode: jitterprobe.Periodic, CPU: &cpu, OnGap: onGap}))
		},
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
		OnBeside: func(s jitterprobe.Snapshot, each []jitterprobe.Snapshot) {
			together.Store(int64(s.Watermark))
		},
		OnTick: func(s jitterprobe.Snapshot) {
			ticks.Add(1)
			if b := together.Load(); b == 0 || int64(s.Watermark) > b {
				t.Errorf("watermark %d is ahead of the others', %d", s.Watermark, b)
			}
		},
	})
	if errors.Is(err, jitterprobe.ErrCPU) {
		t.Skipf("needs CPUs 0 and 1: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	others, all := w.Beside()
	if len(others) == 0 || w.Probe().CPU() >= 0 && slices.Contains(others, w.Probe().CPU()) {
		t.Errorf("CPUs beside %d: got %v", w.Probe().CPU(), others)
	}
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

func TestBesideWithoutItsCPU(t *testing.T) {
	_, err := watch.Start(watch.Options{
		Start: func(onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error) {
			return jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic, OnGap: onGap})
		},
		Beside: []int{1023},
		StartBeside: func(cpu int, onGap func(jitterprobe.Gap)) (*jitterprobe.Probe, error) {
			return jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic, CPU: &cpu, OnGap: onGap})
		},
	})
	if !errors.Is(err, jitterprobe.ErrCPU) {
		t.Errorf("CPU 1023: got error %v, want %v", err, jitterprobe.ErrCPU)
	}
}
