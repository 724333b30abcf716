package dotnet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// scan looks for processes until ctx ends.
func (w *Watcher) scan(ctx context.Context) {
	next := time.NewTimer(0)
	defer next.Stop()
	said, part := "", false
	for looks := 0; ; looks++ {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		w.lookAtNamed(ctx)
		took, err := w.look(ctx)
		next.Reset(untilNext(took))
		if ctx.Err() != nil {
			return
		}
		text := ""
		switch {
		case errors.Is(err, dotnetipc.ErrPart):
			if !part {
				w.o.Log.Warn("not all .NET processes of this machine can be found", "target", w.o.Selector.String(), "why", err)
			}
			part = true
		case err != nil:
			text = err.Error()
		}
		if text == "" && w.count() == 0 && looks == explainAfter {
			text = w.explain(ctx)
		}
		if text != "" && text != said {
			w.o.Log.Warn("no process is watched", "target", w.o.Selector.String(), "why", text)
			said = text
		}
	}
}

// untilNext returns how long to wait for the next look after one that took so long:
// whoever makes many sockets does not make the sidecar read of them all the time.
func untilNext(took time.Duration) time.Duration {
	return min(max(scanEvery, lookShare*took), longestRest)
}

// look follows what is wanted and not watched yet, and says why it cannot look.
// While the process lives that was named by its number, nobody else is wanted: a
// look asks every process of the machine. It returns how long the search took.
func (w *Watcher) look(ctx context.Context) (took time.Duration, err error) {
	if w.namedLives() {
		return 0, nil
	}
	began := time.Now()
	found, err := w.o.Proc.Runtimes(ctx)
	took = time.Since(began)
	for _, id := range found {
		if w.wanted(ctx, id) {
			w.follow(ctx, id)
		}
	}
	return took, err
}

// explainAfter is how many looks may find nothing before that is said.
const explainAfter = 2

// explain says why nothing that was named is watched.
func (w *Watcher) explain(ctx context.Context) string {
	if ctx.Err() != nil {
		return "" // it is no longer
	}
	if pid := w.o.Selector.pid; pid != 0 { // while it lived it was watched, whatever it is
		return fmt.Sprintf("process %d has ended: a .NET process of its command line is watched as soon as there is one", pid)
	}
	if w.o.Selector.name == "" {
		if pid, setting := w.o.Proc.SwitchedOff(ctx); pid != 0 {
			return fmt.Sprintf("no process has a diagnostics socket that can be seen from here: process %d has %s, which turns it off: unset it and start the process again", pid, setting)
		}
		return "no process has a diagnostics socket that can be seen from here: share the pid namespace, and the user or CAP_SYS_PTRACE"
	}
	pids, err := w.o.Proc.Processes()
	if err != nil && !errors.Is(err, dotnetipc.ErrPart) {
		return err.Error()
	}
	for _, pid := range pids {
		if ctx.Err() != nil {
			return ""
		}
		if !w.o.Selector.picks(ctx, w.o.Proc, pid, nil) {
			continue
		}
		if _, err := w.o.Proc.Locate(ctx, pid); err != nil {
			return fmt.Sprintf("%v (mend: --target %d watches what the machine does to its threads, whatever it is)", err, pid)
		}
	}
	return "no process is called " + w.o.Selector.name
}

func (w *Watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.known)
}
