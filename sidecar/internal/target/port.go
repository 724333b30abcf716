package target

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// follow watches a process of this machine until it ends. Goes says that it is a Go
// program; else it may be.
func (w *Watcher) follow(ctx context.Context, id dotnetipc.Identity, goes bool) {
	p := newProcess(w.o, id)
	p.outside.goes = goes
	p.Connect = func(ctx context.Context) (*dotnetipc.Client, error) {
		e, err := w.o.Proc.Locate(ctx, id.PID)
		if err != nil {
			return nil, err
		}
		if e.Identity != id {
			return nil, dotnetipc.ErrNoProcess
		}
		return dotnetipc.NewClient(e), nil
	}
	p.Gone = w.ended(id)
	if w.o.Selector.pid != 0 {
		w.name(ctx, id)
		p.outside.asked = true
	}
	w.begin(ctx, p, func() {})
}

// accept watches the processes that dial.
func (w *Watcher) accept(ctx context.Context) {
	for {
		c, err := w.port.Accept(ctx)
		if err != nil {
			return
		}
		id := c.Identity
		p := newProcess(w.o, id)
		p.Resume = true
		p.Connect = func(context.Context) (*dotnetipc.Client, error) { return c.Client, nil }
		// A runtime dials again as soon as a connection is taken: one that does
		// not is gone.
		p.Gone = func(failure error) bool { return errors.Is(failure, dotnetipc.ErrNoAnswer) }
		if id.PID != 0 {
			p.Gone = w.ended(id)
		}
		if w.begin(ctx, p, c.Forget) {
			continue
		}
		// It is watched by its socket, or not at all: it must not wait for us.
		// It is not forgotten while it lives, or it would dial without end.
		w.work.Go(func() {
			if err := c.Resume(ctx); err != nil {
				p.log.Warn("a process that dialled may wait at its start", "error", err)
			}
		})
	}
}

// ended reports whether a process of this machine has ended.
func (w *Watcher) ended(id dotnetipc.Identity) func(error) bool {
	return func(error) bool {
		now, err := w.o.Proc.Identify(id.PID)
		return errors.Is(err, dotnetipc.ErrNoProcess) || err == nil && now != id
	}
}

// reportRefused says what the reverse port turned away, until ctx ends: a runtime
// that was told to wait for us hangs at its start. It says so again when there are
// twice as many, and at the end: whatever reaches the port can dial for ever.
func (w *Watcher) reportRefused(ctx context.Context) {
	ticker := time.NewTicker(scanEvery)
	defer ticker.Stop()
	for said, on := uint64(0), true; on; {
		select {
		case <-ctx.Done():
			on = false
		case <-ticker.C:
		}
		if n := w.port.Refused(); n > said && (!on || n >= 2*said) {
			facts := []any{"path", w.o.Listen, "connections", n - said, "so_far", n}
			if uid, ok := w.port.Stranger(); ok {
				facts = append(facts, "may_not_dial", fmt.Sprintf("uid %d: let it by --listen-diagnostics-uids %d", uid, uid))
			}
			w.o.Log.Warn("the reverse port turned connections away: no runtime's, of a user who may not dial, or too many; a runtime among them waits at its start, unless it was started with nosuspend", facts...)
			said = n
		}
	}
}
