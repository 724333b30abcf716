package watch_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/watch"
	"github.com/otelgc/otelgc/stall"
)

// TestWatched: that a process is followed comes onto the board before anything
// happened to it.
func TestWatched(t *testing.T) {
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
	p, err := hostwatch.New(hostwatch.Options{PID: os.Getpid(), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(context.Background()); err != nil {
		t.Fatal(err)
	}
	w.Watched(p.Owner(), p.Observations())
	awaitRecord(t, path, p.Owner())
	if err := p.Close(); err != nil {
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
