package e2e

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/board"
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
// Beside them are the stops of the runtime that events told of.
type gaps struct {
	told, untold, stops []gap
	offset              int64 // of the wall clock
}

// gap is when the machine took what, on the clock of the host.
type gap struct {
	cause      string
	start, end int64
}

// split takes what was told from the events, and what was not from the board.
func (f *follower) split(t *testing.T, events []event) gaps {
	t.Helper()
	all := gaps{offset: wallOffset(t)}
	told := map[gap]bool{}
	for _, e := range events {
		if g, ok := gapOf(e); ok && !told[g] {
			told[g] = true
			all.told = append(all.told, g)
		}
		all.stops = append(all.stops, stopsOf(e)...)
	}
	for _, v := range f.gaps {
		g := gap{v.Cause.String(), int64(v.Start), int64(v.End)}
		if v.Cause.IsHost() && v.Scope != stall.ScopeCPU && v.Scope != stall.ScopeProcess && !told[g] {
			all.untold = append(all.untold, g)
		}
	}
	t.Logf("%d gaps were told, %d were on the board alone, %d are lost", len(all.told), len(all.untold), f.lost)
	return all
}

// gapOf reads the event of a gap that is not of one CPU, or of its probe, alone.
func gapOf(e event) (g gap, ok bool) {
	g.cause, _ = e.attrs["otelgc.cause"].(string)
	g.start, _ = e.attrs["otelgc.start"].(int64)
	g.end, _ = e.attrs["otelgc.end"].(int64)
	scope := e.attrs["otelgc.jitter.scope"]
	return g, e.name == "otelgc.jitter.gap" && scope != "cpu" && scope != "process" && strings.HasPrefix(g.cause, "host.")
}

// stopsOf reads the pauses of a collection, or a suspension.
func stopsOf(e event) (all []gap) {
	if start, ok := e.attrs["otelgc.start"].(int64); ok && e.name == "otelgc.suspension" {
		return []gap{{"runtime.suspension", start, e.attrs["otelgc.end"].(int64)}}
	}
	starts, _ := e.attrs["otelgc.pause.start"].([]any)
	for i, start := range starts {
		all = append(all, gap{"gc.pause", start.(int64), e.attrs["otelgc.pause.end"].([]any)[i].(int64)})
	}
	return all
}

// in returns how much of a span lies in gaps, in seconds, by the attribute of their
// cause, and in any of them.
func (g *gaps) in(list []gap, s said) (by map[string]float64, sum float64) {
	parts := map[string][]wallSpan{}
	var all []wallSpan
	for _, v := range list {
		part := wallSpan{max(s.start, v.start+g.offset), min(s.end, v.end+g.offset)}
		if part.start < part.end {
			name := "otelgc.stall." + v.cause
			parts[name], all = append(parts[name], part), append(all, part)
		}
	}
	by = map[string]float64{}
	for name, list := range parts {
		by[name] = covered(list)
	}
	return by, covered(all)
}

// covered returns how much lies in any of the stretches, in seconds.
func covered(list []wallSpan) float64 {
	slices.SortFunc(list, func(a, b wallSpan) int { return cmp.Compare(a.start, b.start) })
	var sum, upTo int64
	for _, v := range list {
		sum += max(0, v.end-max(v.start, upTo))
		upTo = max(upTo, v.end)
	}
	return float64(sum) / 1e9
}
