package dotnet

import (
	"context"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/stall"
)

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
	return madeAt(w.o.Clock, id.Created+1)
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
