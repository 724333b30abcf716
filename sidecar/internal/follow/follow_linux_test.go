package follow_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/follow"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) { noleak.Main(m) }

// TestProcess: that a process is followed comes onto the board before anything
// happened to it.
func TestProcess(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "board")
	probe, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	w, err := watch.Start(watch.Options{
		Probe:  probe,
		Boards: []string{path}, NeedBoard: true, Clock: clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := w.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if _, err := follow.Start(follow.Options{PID: 1 << 30, Clock: clock, Board: w}); !errors.Is(err, hostwatch.ErrTarget) {
		t.Errorf("a process that is not there: %v, want %v", err, hostwatch.ErrTarget)
	}
	batches := make(chan stall.Owner, 1)
	p, err := follow.Start(follow.Options{PID: os.Getpid(), Clock: clock, Board: w, OnBatch: func(o stall.Owner, _ *hostwatch.Observations) {
		select {
		case batches <- o:
		default:
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := <-batches; got != p.Owner() {
		t.Errorf("a batch of %+v, want %+v", got, p.Owner())
	}
	awaitRecord(t, path, p.Owner())
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// awaitRecord waits until the board says that the process is watched.
func awaitRecord(t *testing.T, path string, owner stall.Owner) {
	t.Helper()
	r, err := board.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }() // it was only read
	for {
		list, _, err := r.Read(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list {
			if v := &list[i]; board.Watched(v) && v.Scope == stall.ScopeTarget && v.Owner == owner {
				return
			}
		}
		time.Sleep(time.Millisecond)
	}
}
