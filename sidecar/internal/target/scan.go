package target

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
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
// While the process lives that was named by its number, no other is wanted: a
// look asks every process of the machine. It returns how long the search took.
func (w *Watcher) look(ctx context.Context) (took time.Duration, err error) {
	if w.namedLives() {
		return 0, nil
	}
	began := time.Now()
	found, err := w.o.Proc.Runtimes(ctx)
	for _, id := range found {
		if w.wanted(ctx, id) {
			w.follow(ctx, id, false)
		}
	}
	if w.noGo == nil || w.o.Pprof != "" {
		w.lookForGo(ctx)
	}
	return time.Since(began), err
}

// explainAfter is how many looks may find nothing before that is said.
const explainAfter = 2

// explain says why nothing that was named is watched.
func (w *Watcher) explain(ctx context.Context) string {
	if ctx.Err() != nil {
		return "" // it is no longer
	}
	if pid := w.o.Selector.pid; pid != 0 { // while it lived it was watched, whatever it is
		return fmt.Sprintf("process %d has ended: a process of its command line is watched as soon as there is one", pid)
	}
	if w.o.Selector.name == "" {
		if pid, setting := w.o.Proc.SwitchedOff(ctx); pid != 0 {
			return fmt.Sprintf("no process has a diagnostics socket that can be seen from here: process %d has %s, which turns it off: unset it and start the process again", pid, setting)
		}
		return "no .NET process has a diagnostics socket that can be seen from here, and no Go process can be: share the pid namespace, and the user or CAP_SYS_PTRACE"
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

// name takes a process for that which was named by its number.
func (w *Watcher) name(ctx context.Context, id dotnetipc.Identity) {
	if args, err := w.o.Proc.Arguments(ctx, id.PID); err == nil {
		w.mu.Lock()
		w.named, w.again, w.lived = id, args, w.made(id)
		w.mu.Unlock()
	}
}

// wanted reports whether a process is to be watched. That which was named by its
// number, started again, was made after that one was last seen alive: what is
// older ran beside it.
func (w *Watcher) wanted(ctx context.Context, id dotnetipc.Identity) bool {
	made := w.made(id)
	w.mu.Lock()
	_, known := w.known[id]
	again := w.again
	if _, lives := w.known[w.named]; lives || made < w.lived {
		again = nil // it is another of the same command line
	}
	w.mu.Unlock()
	return !known && w.o.Selector.picks(ctx, w.o.Proc, id.PID, again)
}

// namedLives reports whether the process that was named by its number is watched.
func (w *Watcher) namedLives() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, lives := w.known[w.named]
	return lives && w.named.PID != 0
}

// made returns the latest that a process may have been made at: its number of
// ticks is cut.
func (w *Watcher) made(id dotnetipc.Identity) stall.Instant {
	return proc.MadeAt(w.o.Clock, id.Created+1)
}

// lookAtNamed notes that the process that was named by its number is alive. One
// that only waits for its parent has no command line, and is not.
func (w *Watcher) lookAtNamed(ctx context.Context) {
	now := w.o.Clock.Now()
	w.mu.Lock()
	named := w.named
	w.mu.Unlock()
	if named.PID == 0 {
		return
	}
	args, argsErr := w.o.Proc.Arguments(ctx, named.PID)
	seen, err := w.o.Proc.Identify(named.PID)
	if argsErr != nil || err != nil || seen != named || len(args) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.named == named {
		w.lived = max(w.lived, now)
	}
}

// Selector says which processes are watched.
type Selector struct {
	text string
	pid  int    // of the one process, 0 otherwise
	name string // of the processes, empty otherwise; neither: all
}

// Parse reads a selector: the number of a process, the name of a program, or
// auto for every .NET and Go process.
func Parse(s string) (Selector, error) {
	switch pid, err := strconv.Atoi(s); {
	case s == "":
		return Selector{}, fmt.Errorf("want the number of a process, the name of a program, or auto")
	case s == "auto":
		return Selector{text: s}, nil
	case err != nil:
		return Selector{text: s, name: s}, nil
	case pid <= 0:
		return Selector{}, fmt.Errorf("%d is no process: want a number above zero", pid)
	default:
		return Selector{text: s, pid: pid}, nil
	}
}

// String returns the selector as it was written.
func (s Selector) String() string { return s.text }

// PID returns the one process that is named by its number, 0 for none.
func (s Selector) PID() int { return s.pid }

// names returns what a process may be called: its program, as the kernel cuts
// it, the file that was started, and what the host "dotnet" runs.
func names(ctx context.Context, proc dotnetipc.Proc, pid int) []string {
	var all []string
	if name, err := proc.Name(pid); err == nil && name != "" {
		all = append(all, name)
	}
	args, err := proc.Arguments(ctx, pid)
	if err != nil || len(args) == 0 {
		return all
	}
	all = append(all, filepath.Base(args[0]))
	if filepath.Base(args[0]) == "dotnet" {
		if dll, ok := assembly(args[1:]); ok {
			all = append(all, dll)
		}
	}
	return all
}

// assembly returns the program among the arguments of the host, without its
// extension: dotnet [exec] [options] shop.dll.
func assembly(args []string) (string, bool) {
	at := slices.IndexFunc(args, func(a string) bool { return strings.HasSuffix(a, ".dll") })
	if at < 0 {
		return "", false
	}
	return strings.TrimSuffix(filepath.Base(args[at]), ".dll"), true
}

// picks reports whether a process is wanted. Again is the command line of the
// process that was named by its number, once it was seen: a process of the same
// command line is that one, started again.
func (s Selector) picks(ctx context.Context, proc dotnetipc.Proc, pid int, again []string) bool {
	switch {
	case s.pid != 0 && pid == s.pid:
		return true
	case s.pid != 0:
		args, err := proc.Arguments(ctx, pid)
		return err == nil && len(again) > 0 && slices.Equal(args, again)
	case s.name != "":
		return slices.Contains(names(ctx, proc, pid), s.name)
	}
	return true
}
