package target

import (
	"context"
	"errors"
	"os"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/goprogram"
)

// program is what a process executes, as far as its executable's name tells it apart.
type program struct {
	dotnetipc.Identity
	path string
}

// lookForGo follows the Go programs that are wanted and not watched yet. An executable is
// read once.
func (w *Watcher) lookForGo(ctx context.Context) {
	pids, _ := w.o.Proc.Processes() // what is wrong with the list was said of .NET processes
	seen := make(map[program]bool, len(w.programs))
	for _, pid := range pids {
		if ctx.Err() != nil {
			return
		}
		path, err := w.o.Proc.Executable(pid)
		if err != nil || pid == os.Getpid() {
			continue // a thread of the kernel, what may not be read, and the sidecar
		}
		id, err := w.o.Proc.Identify(pid)
		if err != nil || !w.wanted(ctx, id) {
			continue
		}
		key := program{id, path}
		goes, known := w.programs[key]
		if !known {
			if goes, err = w.goesOutside(ctx, pid); err != nil {
				continue // it may be read the next time
			}
		}
		if seen[key] = goes; goes {
			w.follow(ctx, id, true)
		}
	}
	w.programs = seen
}

// goesOutside reports whether a process runs a Go program that is to be watched from
// outside. One that links otelgc has to be named by its number, or by its name. The error
// says why that is not known.
func (w *Watcher) goesOutside(ctx context.Context, pid int) (bool, error) {
	p, err := dotnetipc.Look(ctx, w.o.Proc, pid, func() (*goprogram.Program, error) { return goprogram.Read(w.o.Proc.FS(), pid) })
	if errors.Is(err, goprogram.ErrNotGo) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if p.Instrumented && w.o.Selector.pid == 0 && w.o.Selector.name == "" {
		w.o.Log.Info("a Go process is not watched: it links otelgc, which exports its collections", "pid", pid, "hint", "to watch it all the same, name it: --target NAME or PID")
		return false, nil
	}
	return true, nil
}
