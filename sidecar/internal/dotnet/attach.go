package dotnet

import (
	"context"
	"errors"

	"github.com/otelgc/otelgc/internal/dotnetipc"
)

// follow watches a process of this machine until it ends.
func (w *Watcher) follow(ctx context.Context, id dotnetipc.Identity) {
	p := newProcess(w.o, id)
	p.connect = func(ctx context.Context) (*dotnetipc.Client, error) {
		e, err := w.o.Proc.Locate(ctx, id.PID)
		if err != nil {
			return nil, err
		}
		if e.Identity != id {
			return nil, dotnetipc.ErrNoProcess
		}
		return dotnetipc.NewClient(e), nil
	}
	p.gone = w.ended(id)
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
		p.resume = true
		p.connect = func(context.Context) (*dotnetipc.Client, error) { return c.Client, nil }
		// A runtime dials again as soon as a connection is taken: one that does
		// not is gone.
		p.gone = func(failure error) bool { return errors.Is(failure, dotnetipc.ErrNoAnswer) }
		if id.PID != 0 {
			p.gone = w.ended(id)
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

// ended tells whether a process of this machine has ended.
func (w *Watcher) ended(id dotnetipc.Identity) func(error) bool {
	return func(error) bool {
		now, err := w.o.Proc.Identify(id.PID)
		return errors.Is(err, dotnetipc.ErrNoProcess) || err == nil && now != id
	}
}
