package watch_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

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
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		for err == nil {
			_, err = w.Next(context.Background())
		}
		if err != io.EOF {
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
	if _, err := w.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	findRecord(t, path, p.Owner())
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// findRecord checks that the board says that the process is watched.
func findRecord(t *testing.T, path string, owner stall.Owner) {
	t.Helper()
	r, err := board.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }() // it was only read
	list, _, err := r.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if v := &list[i]; board.Watched(v) && v.Scope == stall.ScopeTarget && v.Owner == owner {
			return
		}
	}
	t.Errorf("no record of process %d among %d", owner.PID, len(list))
}
