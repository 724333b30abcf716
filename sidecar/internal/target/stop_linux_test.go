package target

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// TestStopLeavesWhatHangs: a process that the sidecar waits for in the kernel, which
// no context ends, does not keep it from ending.
func TestStopLeavesWhatHangs(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	log := &logBuffer{}
	recorded := 0
	w, err := Start(Options{Clock: clock, Log: slog.New(slog.NewTextHandler(log, nil)), Record: func(recording.Record) { recorded++ }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w.cancel = cancel
	hangs, release := make(chan struct{}), make(chan struct{})
	reached := sync.OnceFunc(func() { close(hangs) })
	hung := newProcess(w.o, dotnetipc.Identity{PID: 4711, Created: 1})
	hung.Connect = func(context.Context) (*dotnetipc.Client, error) {
		reached()
		<-release
		return nil, dotnetipc.ErrNoSocket
	}
	honest := newProcess(w.o, dotnetipc.Identity{PID: 4712, Created: 1})
	honest.Connect = func(context.Context) (*dotnetipc.Client, error) { return nil, dotnetipc.ErrNoSocket }
	for _, p := range []*process{hung, honest} {
		p.Gone = func(error) bool { return false }
		if !w.begin(ctx, p, func() {}) {
			t.Fatal("a process is not watched")
		}
	}
	<-hangs
	honest.abandon(nil)
	stopped := make(chan []Summary)
	go func() { stopped <- w.Stop() }()
	select {
	case all := <-stopped:
		why := map[int]string{}
		for _, s := range all {
			why[s.PID] = s.Why
		}
		if len(all) != 2 || !strings.Contains(why[4711], "did not let go") || why[4712] == "" || why[4712] == why[4711] {
			t.Errorf("summaries: got %v, want that the process which hangs was left, and it alone", why)
		}
		if n := strings.Count(log.String(), "level=WARN msg=\"not all has ended in time, and is left\""); n != 1 || !strings.Contains(log.String(), "pids=[4711]") {
			t.Errorf("the log names what was left %d times, want once:\n%s", n, log)
		}
	case <-time.After(2 * time.Minute):
		t.Error("Stop waits for a process that hangs")
	}
	// What was left and goes on after all does no harm.
	before := recorded
	close(release)
	w.work.Wait()
	if w.o.Record(recording.Status{}); recorded != before {
		t.Error("something was recorded after Stop")
	}
}
