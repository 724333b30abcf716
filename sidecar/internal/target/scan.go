package target

import (
	"context"
	"fmt"
	"time"
)

// scan looks for processes until ctx ends.
func (w *Watcher) scan(ctx context.Context) {
	said := ""
	for looks := 0; ; looks++ {
		began := time.Now()
		w.lookAtNamed()
		text := w.look(ctx)
		if text == "" && w.count() == 0 && looks == explainAfter {
			text = w.explain(ctx)
		}
		if text != "" && text != said {
			w.o.Log.Warn("no process is watched", "target", w.o.Selector.String(), "why", text)
			said = text
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(scanEvery, scanRest*time.Since(began))):
		}
	}
}

// look follows what is wanted and not watched yet, and says why it cannot look.
// While the process lives that was named by its number, nobody else is wanted: a
// look asks every process of the machine.
func (w *Watcher) look(ctx context.Context) (trouble string) {
	if w.namedLives() {
		return ""
	}
	found, err := w.o.Proc.Runtimes()
	if err != nil {
		trouble = err.Error()
	}
	for _, id := range found {
		if w.wanted(id) {
			w.follow(ctx, id)
		}
	}
	return trouble
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
		if pid, setting := w.o.Proc.SwitchedOff(); pid != 0 {
			return fmt.Sprintf("no process has a diagnostics socket that can be seen from here: process %d has %s, which turns it off: unset it and start the process again", pid, setting)
		}
		return "no process has a diagnostics socket that can be seen from here: share the pid namespace, and the user or CAP_SYS_PTRACE"
	}
	pids, err := w.o.Proc.Processes()
	if err != nil {
		return err.Error()
	}
	for _, pid := range pids {
		if !w.o.Selector.picks(w.o.Proc, pid, nil) {
			continue
		}
		if _, err := w.o.Proc.Locate(pid); err != nil {
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
