package e2e

import (
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/board"
	"github.com/otelgc/otelgc/stall"
)

// follower reads a board as services do, and keeps what is on it.
type follower struct {
	quit chan struct{}
	done sync.WaitGroup
	gaps []stall.Interval
	lost uint64
}

// followBoard reads until stop is called, or the test ends.
func followBoard(t *testing.T, path string) (f *follower, stop func()) {
	t.Helper()
	r, err := board.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f = &follower{quit: make(chan struct{})}
	f.done.Go(func() {
		defer r.Close() // read only
		for more := true; more; {
			select {
			case <-f.quit:
				more = false // but look once more
			case <-time.After(100 * time.Millisecond):
			}
			list, s, err := r.Read(nil)
			if err != nil {
				t.Errorf("read the board: %v", err)
				return
			}
			f.gaps, f.lost = append(f.gaps, list...), f.lost+s.Lost
		}
	})
	stop = sync.OnceFunc(func() { close(f.quit); f.done.Wait() })
	t.Cleanup(stop)
	return f, stop
}

// gaps are those of a process or its cgroup, or of the whole machine: those that
// events told of, and those that were on the board alone, as there are too many of
// them in a second, or they are too short. The status of their source counts them.
type gaps struct {
	told, untold []stall.Interval
	offset       int64 // of the wall clock
}

func (f *follower) split(t *testing.T, events []event) gaps {
	t.Helper()
	type extent struct{ start, end int64 }
	told := map[extent]bool{}
	for _, e := range events {
		if start, ok := e.attrs["otelgc.start"].(int64); ok && e.name == "otelgc.jitter.gap" {
			told[extent{start, e.attrs["otelgc.end"].(int64)}] = true
		}
	}
	all := gaps{offset: wallOffset(t)}
	for _, g := range f.gaps {
		switch {
		case !g.Cause.IsHost() || g.Scope == stall.ScopeCPU:
		case told[extent{int64(g.Start), int64(g.End)}]:
			all.told = append(all.told, g)
		default:
			all.untold = append(all.untold, g)
		}
	}
	t.Logf("%d gaps were told, %d were on the board alone, %d are lost", len(all.told), len(all.untold), f.lost)
	return all
}

// in returns how much of a span lies in gaps, in seconds, by the attribute of their
// cause, and all together.
func (g *gaps) in(list []stall.Interval, s said) (by map[string]float64, sum float64) {
	by = map[string]float64{}
	for _, v := range list {
		if d := max(0, min(s.end, int64(v.End)+g.offset)-max(s.start, int64(v.Start)+g.offset)); d > 0 {
			by["otelgc.stall."+v.Cause.String()] += float64(d) / 1e9
			sum += float64(d) / 1e9
		}
	}
	return by, sum
}
