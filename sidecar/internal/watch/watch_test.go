package watch_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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

// TestWatch: with each batch every gap that the probe has counted has been read, and
// when the probe has ended the board is gone.
func TestWatch(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "board")
	p := probe(t, jitterprobe.Options{Clock: clock, Threshold: 10 * time.Microsecond})
	w, err := watch.Start(watch.Options{Probe: p, Boards: []string{path}, NeedBoard: clock.Shared(), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if at, why := w.Board(); (at == path) != clock.Shared() {
		t.Errorf("board: %q (%s)", at, why)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	read := uint64(0)
	for err == nil { // what is known comes first
		_, err = w.Next(ctx)
		read += uint64(len(w.Gaps()))
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("next without patience: %v", err)
	}
	for batches := 0; ; batches++ {
		if batches == 3 {
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
		b, err := w.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		read += uint64(len(w.Gaps()))
		if len(b.Intervals) != len(w.Gaps()) {
			t.Errorf("%d intervals, %d gaps", len(b.Intervals), len(w.Gaps()))
		}
		if s := w.Seen()[0]; read < s.Gaps {
			t.Errorf("%d gaps read, the probe has seen %d", read, s.Gaps)
		}
	}
	seen, s := w.Seen()[0], p.Stop()
	if seen.Observed() <= 0 || seen.Gaps != read || s.Gaps != read || s.Unread != 0 {
		t.Errorf("observed %v, %d gaps, %d in all, %d read", seen.Observed(), seen.Gaps, s.Gaps, read)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the board of a watch that has ended: %v", err)
	}
	if _, err := w.Next(t.Context()); err != io.EOF {
		t.Errorf("next after the end: %v", err)
	}
	if err := w.Close(); err != nil {
		t.Errorf("second close: %v", err)
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

// TestSeveral: a probe per CPU, one board, and a watermark that all have passed.
func TestSeveral(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "board")
	first := probe(t, jitterprobe.Options{Clock: clock, Threshold: 5 * time.Microsecond})
	var others []*jitterprobe.Probe
	for cpu := range 2 {
		if cpu != first.CPU() {
			others = append(others, probe(t, jitterprobe.Options{Mode: jitterprobe.Periodic, CPU: &cpu, Clock: clock, Threshold: 5 * time.Microsecond}))
		}
	}
	w, err := watch.Start(watch.Options{Probe: first, Others: others, Boards: []string{path}, NeedBoard: clock.Shared(), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if runtime.NumCPU() == 2 && !w.AllCPUs() {
		t.Error("both CPUs have a probe: not all")
	}
	cpus, mark := map[int32]bool{}, stall.Instant(0) // CPUs that had a gap
	for closed := false; ; {
		b, err := w.Next(t.Context())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range w.Gaps() {
			cpus[g.CPU] = true
		}
		for _, p := range w.Probes() {
			if s := p.Seen(); b.Watermark > s.Watermark {
				t.Errorf("watermark %d is ahead of that of CPU %d, %d", b.Watermark, p.CPU(), s.Watermark)
			}
		}
		if b.Watermark < mark {
			t.Errorf("the watermark fell from %d to %d", mark, b.Watermark)
		}
		if mark = b.Watermark; !closed && cpus[0] && cpus[1] {
			closed = true
			if err := w.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	seen, want := 0, uint64(0)
	for _, s := range w.Seen() {
		seen += len(s.CPUs)
		want += s.Gaps
	}
	got := uint64(0)
	for _, p := range w.Probes() {
		got += p.Stop().Gaps
	}
	if seen != len(w.Probes()) || got != want {
		t.Errorf("seen of %d CPUs with %d gaps, want %d with %d", seen, want, len(w.Probes()), got)
	}
}
