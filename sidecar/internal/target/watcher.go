package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// Options configure a [Watcher].
type Options struct {
	// Selector picks among the processes of the machine; none if zero.
	Selector Selector
	// Listen is the path of a reverse port; none if empty. A runtime that is
	// started with DOTNET_DiagnosticPorts=PATH,nosuspend dials it.
	Listen string
	// Allocations asks for who allocates, too: a sample, that costs the process
	// an event about every 100 kB.
	Allocations bool

	Clock stall.Clock
	Log   *slog.Logger
	Proc  dotnetipc.Proc
	// Followed is a watch of one of the processes that somebody else keeps; nil
	// for none. Without it what the machine does to a process is only counted.
	Followed *hostwatch.Watch
	// Record is given what a recording keeps, from many goroutines, until Stop
	// returns; nil for none. It must not block.
	Record func(recording.Record)
}

// Watcher watches processes.
type Watcher struct {
	o      Options
	cancel context.CancelFunc
	port   *dotnetipc.Listener
	work   sync.WaitGroup

	mu        sync.Mutex
	known     map[dotnetipc.Identity]*process
	named     dotnetipc.Identity // the process that was named by its number, or is it, started again
	again     []string           // its command line
	lived     stall.Instant      // when it was last seen alive
	summaries []Summary
	begun     int                            // processes so far
	left      map[dotnetipc.Identity]Summary // over the limit, and not watched since
}

// Start begins to watch. A process that was named by its number must be there;
// that it has no runtime yet, or does not let us in, is said in the log and
// tried again.
func Start(o Options) (*Watcher, error) {
	w := &Watcher{o: o, known: make(map[dotnetipc.Identity]*process)}
	var first dotnetipc.Identity
	if pid := o.Selector.pid; pid != 0 {
		var err error
		if first, err = o.Proc.Identify(pid); err != nil {
			return nil, err
		}
	}
	if o.Listen != "" {
		var err error
		if w.port, err = dotnetipc.Listen(o.Listen); err != nil {
			return nil, err
		}
		o.Log.Info("listening for .NET processes", "path", o.Listen, "start_them_with", "DOTNET_DiagnosticPorts="+o.Listen+",nosuspend")
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	if first.PID != 0 {
		w.follow(ctx, first)
	}
	if o.Selector != (Selector{}) {
		w.work.Go(func() { w.scan(ctx) })
	}
	if w.port != nil {
		w.work.Go(func() { w.accept(ctx) })
	}
	return w, nil
}

// Stop ends all sessions in good order, exports what is held, and returns what
// was seen, the processes that were first seen first. It takes a few seconds at
// most.
func (w *Watcher) Stop() []Summary {
	w.cancel()
	w.work.Wait()
	if w.port != nil {
		if err := w.port.Close(); err != nil {
			w.o.Log.Warn("close the reverse port", "error", err)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.left {
		w.summaries = append(w.summaries, s)
	}
	w.left = nil
	slices.SortStableFunc(w.summaries, func(a, b Summary) int { return cmp.Compare(a.order, b.order) })
	return w.summaries
}

// scan looks for processes until ctx ends.
func (w *Watcher) scan(ctx context.Context) {
	ticker := time.NewTicker(scanEvery)
	defer ticker.Stop()
	said := ""
	for looks := 0; ; looks++ {
		w.lookAtNamed()
		found, err := w.o.Proc.Runtimes()
		text := ""
		if err != nil {
			text = err.Error()
		}
		for _, id := range found {
			if w.wanted(id) {
				w.follow(ctx, id)
			}
		}
		if text == "" && w.count() == 0 && looks == explainAfter {
			text = w.explain()
		}
		if text != "" && text != said {
			w.o.Log.Warn("no process is watched", "target", w.o.Selector.String(), "why", text)
			said = text
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// explainAfter is how many looks may find nothing before that is said.
const explainAfter = 2

// explain says why nothing that was named is there.
func (w *Watcher) explain() string {
	if w.o.Selector.name == "" {
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
			return err.Error()
		}
	}
	return "no process is called " + w.o.Selector.name
}

func (w *Watcher) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.known)
}

// follow watches a process of this machine until it ends.
func (w *Watcher) follow(ctx context.Context, id dotnetipc.Identity) {
	p := newProcess(w.o, id)
	p.connect = func() (*dotnetipc.Client, error) {
		e, err := w.o.Proc.Locate(id.PID)
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
		w.name(id)
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
		id := dotnetipc.Identity{PID: c.PID}
		if seen, err := w.o.Proc.Identify(c.PID); err == nil {
			id = seen
		}
		p := newProcess(w.o, id)
		p.resume = true
		p.connect = func() (*dotnetipc.Client, error) { return c.Client, nil }
		// A runtime dials again as soon as a connection is taken: one that does
		// not is gone.
		p.gone = func() bool { return errors.Is(p.failure, dotnetipc.ErrNoAnswer) }
		if id.Created != 0 {
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
func (w *Watcher) ended(id dotnetipc.Identity) func() bool {
	return func() bool {
		now, err := w.o.Proc.Identify(id.PID)
		return errors.Is(err, dotnetipc.ErrNoProcess) || err == nil && now != id
	}
}

// begin runs p, and end after it. It reports false if the process is watched
// already, when end is called after that, or if there are too many.
func (w *Watcher) begin(ctx context.Context, p *process, end func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := p.id
	if key.Created == 0 {
		key.Created = p.order // not to be told from others by its number
	}
	if same, known := w.known[key]; known {
		same.after = append(same.after, end)
		return false
	}
	if len(w.known) >= maxTargets {
		w.leave(key, p)
		return false
	}
	delete(w.left, key)
	p.after = append(p.after, end)
	w.begun++
	p.tape.id = w.begun
	w.known[key] = p
	w.work.Go(func() {
		p.run(ctx)
		w.end(key, p)
	})
	return true
}

// leave says of a process, once, that it is not watched. It is as soon as another
// one ends.
func (w *Watcher) leave(key dotnetipc.Identity, p *process) {
	if _, said := w.left[key]; said || len(w.left) >= maxSummaries {
		return
	}
	if w.left == nil {
		w.left = make(map[dotnetipc.Identity]Summary)
	}
	p.summary.Why = fmt.Sprintf("not watched: %d other processes are", maxTargets)
	w.left[key] = p.summary
	p.log.Warn("a process is not watched: there are too many", "at_most", maxTargets)
}

func (w *Watcher) end(key dotnetipc.Identity, p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, key)
	for _, f := range p.after {
		f()
	}
	if len(w.summaries) < maxSummaries {
		w.summaries = append(w.summaries, p.summary)
	}
}
