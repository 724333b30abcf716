package target

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
	"github.com/otelgc/otelgc/stall"
)

// places is a Watcher of processes that no runtime answers for.
type places struct {
	*Watcher
	t   *testing.T
	ctx context.Context
	log *logBuffer
}

func newPlaces(t *testing.T) *places {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	w := &Watcher{o: Options{Clock: clock, Log: slog.New(slog.NewTextHandler(log, nil))}, known: make(map[dotnetipc.Identity]*process), budget: dotnet.NewBudget(clock.Now, 0), targets: maxTargets}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	t.Cleanup(func() { w.Stop() })
	return &places{w, t, ctx, log}
}

func (w *places) begin(pid int, group string) bool {
	p := newProcess(w.o, dotnetipc.Identity{})
	p.ID = dotnetipc.Identity{PID: pid, Created: 7}
	p.summary.PID, p.Group, p.summary.group = pid, group, group
	p.Connect = func(context.Context) (*dotnetipc.Client, error) { return nil, dotnetipc.ErrNoSocket }
	p.Gone = func(error) bool { return false }
	return w.Watcher.begin(w.ctx, p, func() {})
}

// watched returns how many processes of each group are watched, when those that
// lost their place have ended.
func (w *places) watched() map[string]int {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		counts, ending := make(map[string]int), false
		w.mu.Lock()
		for _, p := range w.known {
			counts[p.Group]++
			ending = ending || p.displaced
		}
		w.mu.Unlock()
		if !ending {
			return counts
		}
		if time.Now().After(end) {
			w.t.Fatal("a process that lost its place does not end")
		}
	}
}

// TestPlaces: fake runtimes of one user that have every place give them up to those
// of others, and get none back that others have. Nobody takes turns.
func TestPlaces(t *testing.T) {
	w := newPlaces(t)
	for i := range maxTargets + 10 {
		if got, want := w.begin(1000+i, "fake"), i < maxTargets; got != want {
			t.Fatalf("fake %d: begun is %v, want %v", i, got, want)
		}
	}
	for i := range 3 {
		if !w.begin(1+i, "shop") {
			t.Errorf("process %d of another user is not watched", 1+i)
		}
		w.watched()
	}
	for range 3 { // looks
		for i := range maxTargets + 10 {
			w.begin(1000+i, "fake")
		}
		for i := range 3 {
			w.begin(1+i, "shop")
		}
	}
	if got := w.watched(); got["fake"] != maxTargets-3 || got["shop"] != 3 {
		t.Errorf("watched: got %v, want the three of the shop beside fakes", got)
	}
	// The youngest of the fakes made place, and each said so once.
	const said = "not watched any longer: another user or container"
	for i := range 3 {
		if line := fmt.Sprintf("pid=0 group=fake watched=%d", maxTargets-i); !strings.Contains(w.log.String(), line) {
			t.Errorf("the log does not hold %q:\n%s", line, w.log)
		}
	}
	if n := strings.Count(w.log.String(), said); n != 3 {
		t.Errorf("%d processes lost their place, want 3:\n%s", n, w.log)
	}
	all := w.Stop()
	left := 0
	for _, s := range all {
		if s.PID < 1000 && strings.HasPrefix(s.Why, "not watched") {
			t.Errorf("process %d: %s", s.PID, s.Why)
		}
		if strings.HasPrefix(s.Why, "not watched") {
			left++
		}
	}
	if left != 13 || len(all) != maxTargets+13 {
		t.Errorf("%d summaries, %d of processes that are not watched, want %d and 13", len(all), left, maxTargets+13)
	}
}

// TestPlacesOfTwo: where each of two groups has half of the places, a third gets its
// share, and both stay.
func TestPlacesOfTwo(t *testing.T) {
	w := newPlaces(t)
	for i := range maxTargets {
		w.begin(1000+i, []string{"a", "b"}[i%2])
	}
	for range 4 {
		for i := range 40 {
			w.begin(2000+i, "c")
			w.watched()
		}
		for i := range maxTargets {
			w.begin(1000+i, []string{"a", "b"}[i%2])
		}
	}
	got := w.watched()
	if got["a"]+got["b"]+got["c"] != maxTargets || got["c"] < 21 || got["c"] > 22 || got["a"] < 21 || got["b"] < 21 {
		t.Errorf("watched: got %v, want a third each", got)
	}
	if n := strings.Count(w.log.String(), "not watched any longer"); n > 24 {
		t.Errorf("%d processes lost their place, want each place given once", n)
	}
}

// TestSummaries: short-lived fakes do not take the place of a real process in the
// summary.
func TestSummaries(t *testing.T) {
	w := newPlaces(t)
	w.mu.Lock()
	w.keep(Summary{PID: 1, group: "shop"})
	for i := range 2 * maxSummaries {
		w.keep(Summary{PID: 1000 + i, group: "fake"})
	}
	w.keep(Summary{PID: 2, group: "shop"})
	w.mu.Unlock()
	all := w.Stop()
	shop := 0
	for _, s := range all {
		if s.group == "shop" {
			shop++
		}
	}
	if shop != 2 || len(all) != maxSummaries || !strings.Contains(w.log.String(), fmt.Sprintf("left_out=%d", maxSummaries+2)) {
		t.Errorf("got %d summaries, %d of the shop, want both; log:\n%s", len(all), shop, w.log)
	}
}
