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

// TestCrowd has more processes than are watched at once: each that is not is
// named, once, and watched when another has ended.
func TestCrowd(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	w := &Watcher{o: Options{Clock: clock, Log: slog.New(slog.NewTextHandler(log, nil))}, known: make(map[dotnetipc.Identity]*process), budget: dotnet.NewBudget(clock.Now, 0), targets: maxTargets}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	alive := make([]context.Context, maxTargets+3)
	kill := make([]context.CancelFunc, len(alive))
	begin := func(i int) bool {
		p := newProcess(w.o, dotnetipc.Identity{PID: 1000 + i, Created: 7})
		p.Connect = func(context.Context) (*dotnetipc.Client, error) { return nil, dotnetipc.ErrNoSocket }
		p.Gone = func(error) bool { return alive[i].Err() != nil }
		return w.begin(ctx, p, func() {})
	}
	for i := range alive {
		alive[i], kill[i] = context.WithCancel(t.Context())
		defer kill[i]()
		for look := range 3 {
			if got, want := begin(i), look == 0 && i < maxTargets; got != want {
				t.Fatalf("process %d, look %d: begun is %v, want %v", i, look, got, want)
			}
		}
	}
	const said = "a process is not watched: there are too many"
	if n := strings.Count(log.String(), said); n != 3 {
		t.Errorf("said %d times that one is not watched, want 3:\n%s", n, log)
	}
	kill[5]()
	for end := time.Now().Add(3 * time.Minute); w.count() == maxTargets; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the process that ended is still watched")
		}
	}
	if !begin(maxTargets) {
		t.Error("a process that was left is not watched after another ended")
	}
	var left []string
	for _, s := range w.Stop() {
		if strings.HasPrefix(s.Why, "not watched") {
			left = append(left, fmt.Sprint(s.PID))
		}
	}
	if got, want := strings.Join(left, " "), fmt.Sprintf("%d %d", 1000+maxTargets+1, 1000+maxTargets+2); got != want {
		t.Errorf("left in the end: %s, want %s", got, want)
	}
}
