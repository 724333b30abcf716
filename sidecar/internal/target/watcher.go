package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/internal/dotnetipc"
	"github.com/otelgc/otelgc/internal/gouprobe"
	"github.com/otelgc/otelgc/internal/hostwatch"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/dotnet"
	"github.com/otelgc/otelgc/stall"
)

// Options configure a [Watcher].
type Options struct {
	// Selector picks among the processes of the machine; none if zero.
	Selector Selector
	// Listen is the path of a reverse port; none if empty. A runtime that is
	// started with DOTNET_DiagnosticPorts=PATH,nosuspend dials it.
	Listen string
	// Port says which users' runtimes may dial it.
	Port dotnetipc.ListenOptions

	// Pprof is where a Go program is asked for its trace: a URL for one process, or
	// gopprof.Auto. Not at all if it is empty.
	Pprof string
	turn  chan struct{} // one process is asked at a time

	Clock stall.Clock
	Log   *slog.Logger
	Proc  dotnetipc.Proc
	// Followed is a watch of one of the processes that the caller reads; nil
	// for none. Without it what the machine does to a process is only counted.
	Followed *hostwatch.Watch
	// Record is given what a recording keeps, from many goroutines, until Stop
	// returns; nil for none. It must not block, nor call the Watcher.
	Record func(recording.Record)
	// Progress is given how far each process was watched, once a second, as Record is.
	Progress func(Progress)
}

// Progress is how far a process was watched.
type Progress struct {
	// ID is that of its records, 0 while it waits for a place: then its number here
	// distinguishes it.
	ID int
	// Summary is what was seen so far; Why says why it is not watched now, if it is not.
	Summary
	// Over says that it is not watched any longer, and nothing more is said of it.
	Over bool
}

// Watcher watches processes.
type Watcher struct {
	o      Options
	cancel context.CancelFunc
	port   *dotnetipc.Listener
	budget *dotnet.Budget
	// targets is how many processes may be watched at once.
	targets int
	work    sync.WaitGroup
	// recorder and progress are of Options as they were given.
	recorder func(recording.Record)
	progress func(Progress)
	// noGo is why no Go program can be watched. Of programs it is known whether they are
	// to be; both are of the goroutine that looks for processes.
	noGo     error
	programs map[program]bool

	mu        sync.Mutex
	known     map[dotnetipc.Identity]*process
	named     dotnetipc.Identity // the process that was named by its number, or is it, started again
	again     []string           // its command line
	lived     stall.Instant      // when it was last seen alive
	summaries []Summary
	begun     int                            // processes so far
	left      map[dotnetipc.Identity]Summary // over the limit, and not watched since
	unlisted  int                            // processes without a summary
	unnamed   bool                           // there were too many for left, which was said
	stopped   bool                           // Stop returns: nothing is recorded any more
}

// Start begins to watch. A process that was named by its number must be there;
// that it has no runtime yet, or does not let us in, is said in the log and
// tried again.
func Start(o Options) (*Watcher, error) {
	limit := memoryLimit()
	o.turn = make(chan struct{}, 1)
	w := &Watcher{o: o, known: make(map[dotnetipc.Identity]*process), budget: dotnet.NewBudget(o.Clock.Now, limit), targets: targetsWithin(limit)}
	if w.recorder = o.Record; w.recorder != nil {
		w.o.Record = w.record
	}
	if w.progress = o.Progress; w.progress != nil {
		w.o.Progress = w.tell
	}
	var first dotnetipc.Identity
	if pid := o.Selector.pid; pid != 0 {
		var err error
		if first, err = o.Proc.Identify(pid); err != nil {
			return nil, err
		}
	}
	if o.Listen != "" {
		var err error
		if w.port, err = dotnetipc.Listen(o.Listen, o.Port); err != nil {
			return nil, err
		}
		o.Log.Info("listening for .NET processes", "path", o.Listen, "start_them_with", "DOTNET_DiagnosticPorts="+o.Listen+",nosuspend")
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	if first.PID != 0 {
		w.follow(ctx, first, false)
	}
	if o.Selector != (Selector{}) {
		if w.noGo = gouprobe.Supported(); w.noGo != nil && o.Selector.pid == 0 && o.Pprof == "" {
			o.Log.Info("Go processes are not watched", "why", w.noGo)
		}
		w.work.Go(func() { w.scan(ctx) })
	}
	if w.port != nil {
		w.work.Go(func() { w.accept(ctx) })
		w.work.Go(func() { w.reportRefused(ctx) })
	}
	return w, nil
}

// Stop ends all sessions in good order, exports what is held, and returns what
// was seen, the processes that were first seen first. It takes stopWithin at
// most: what has not ended by then is left, and named in the log.
func (w *Watcher) Stop() []Summary {
	w.cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.work.Wait()
		if w.port != nil {
			if err := w.port.Close(); err != nil {
				w.o.Log.Warn("close the reverse port", "error", err)
			}
		}
	}()
	limit := time.NewTimer(stopWithin)
	defer limit.Stop()
	inTime := true
	select {
	case <-ended:
	case <-limit.C:
		inTime = false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	if !inTime {
		w.abandon()
	}
	all := w.summaries
	w.summaries = nil // what was left may still add its own
	for _, s := range w.left {
		all = append(all, s)
	}
	w.left = nil
	if w.unlisted > 0 {
		w.o.Log.Warn("the summary does not list all processes", "at_most", maxSummaries, "left_out", w.unlisted)
	}
	slices.SortStableFunc(all, func(a, b Summary) int { return cmp.Compare(a.order, b.order) })
	return all
}

// abandon says what has not ended in time. A read of a file or a socket that the
// kernel does not return from ends with this program only. The mutex is held.
func (w *Watcher) abandon() {
	var pids []int
	for _, p := range w.known {
		pids = append(pids, p.ID.PID)
		w.keep(Summary{PID: p.ID.PID, order: p.order, Why: fmt.Sprintf("it did not let go of the sidecar within %v: what was seen of it is lost", stopWithin)})
	}
	slices.Sort(pids)
	w.o.Log.Warn("not all has ended in time, and is left", "within", stopWithin.String(), "pids", pids)
}

// record hands a record on until Stop returns.
func (w *Watcher) record(r recording.Record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.recorder(r)
	}
}

// tell hands on how far a process was watched, until Stop returns.
func (w *Watcher) tell(v Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.progress(v)
	}
}

// begin runs p, and end after it. It reports false if the process is watched
// already, when end is called after that, or if there are too many.
func (w *Watcher) begin(ctx context.Context, p *process, end func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if ctx.Err() != nil {
		return false // a look that was under way when we were told to end
	}
	key := p.ID
	if key.Created == 0 {
		key.Created = p.order // its number does not distinguish it
	}
	if same, known := w.known[key]; known {
		same.after = append(same.after, end)
		return false
	}
	if !w.admit(p) {
		w.leave(key, p)
		return false
	}
	if s, left := w.left[key]; left && s.Sessions > 0 {
		w.keep(s) // it was watched before, too
	}
	delete(w.left, key)
	p.after = append(p.after, end)
	p.Budget = w.budget
	w.begun++
	p.recorder.id = w.begun
	w.known[key] = p
	ctx, p.abandon = context.WithCancelCause(ctx)
	w.work.Go(func() {
		p.run(ctx)
		p.abandon(nil)
		w.end(key, p)
	})
	return true
}

func (w *Watcher) end(key dotnetipc.Identity, p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.known, key)
	for _, f := range p.after {
		f()
	}
	if p.displaced && p.summary.Why == errDisplaced.Error() && w.remember(key, p.summary) {
		return
	}
	w.keep(p.summary)
}

// maxEnding bounds the processes whose place was given to others and whose
// sessions have not ended yet.
const maxEnding = 8

// errDisplaced is why a process is not watched any longer: another got its place.
var errDisplaced = errors.New("not watched any longer: others of its user or container have the places of that, and a process of another needed one")

// admit reports whether there is a place for p. If there is none, the youngest
// process of the group that has most makes place for one of a group with fewer, if
// that has no more than the other afterwards: so two do not take turns.
func (w *Watcher) admit(p *process) bool {
	counts, watched := make(map[string]int), 0
	for _, o := range w.known {
		if !o.displaced {
			counts[o.Group]++
			watched++
		}
	}
	if watched < w.targets && len(w.known) < w.targets+maxEnding {
		return true
	}
	if len(w.known) >= w.targets+maxEnding {
		return false
	}
	var youngest *process
	for key, o := range w.known {
		if o.displaced || key == w.named || counts[o.Group] < counts[p.Group]+2 {
			continue
		}
		if youngest == nil || cmp.Or(cmp.Compare(counts[o.Group], counts[youngest.Group]), cmp.Compare(o.order, youngest.order), cmp.Compare(o.ID.PID, youngest.ID.PID)) > 0 {
			youngest = o
		}
	}
	if youngest == nil {
		return false
	}
	youngest.displaced = true
	youngest.log.Warn("a process is not watched any longer: another user or container has fewer that are", "group", youngest.Group, "watched", counts[youngest.Group], "at_most", w.targets)
	youngest.abandon(errDisplaced)
	return true
}

// leave says of a process, once, that it is not watched. It is as soon as another
// one ends.
func (w *Watcher) leave(key dotnetipc.Identity, p *process) {
	p.summary.Why = fmt.Sprintf("not watched: %d other processes are", w.targets)
	if w.progress != nil && !w.stopped {
		w.progress(Progress{Summary: p.summary})
	}
	if _, said := w.left[key]; said {
		return
	}
	switch {
	case w.remember(key, p.summary):
		p.log.Warn("a process is not watched: there are too many", "at_most", w.targets)
	case !w.unnamed:
		w.unnamed = true
		w.o.Log.Warn("more processes are not watched than are named", "named", maxSummaries)
	}
}

// remember keeps the summary of a process that waits for a place. It reports false
// if there are too many.
func (w *Watcher) remember(key dotnetipc.Identity, s Summary) bool {
	if len(w.left) >= maxSummaries {
		return false
	}
	if w.left == nil {
		w.left = make(map[dotnetipc.Identity]Summary)
	}
	w.left[key] = s
	return true
}

// keep keeps the summary of a process that has ended. If there are too many, one of
// the group that has most goes: the first of those with the fewest collections.
func (w *Watcher) keep(s Summary) {
	w.summaries = append(w.summaries, s)
	if len(w.summaries) <= maxSummaries {
		return
	}
	w.unlisted++
	counts := make(map[string]int)
	for i := range w.summaries {
		counts[w.summaries[i].group]++
	}
	least := 0
	for i := range w.summaries {
		a, b := &w.summaries[i], &w.summaries[least]
		if cmp.Or(cmp.Compare(counts[b.group], counts[a.group]), cmp.Compare(a.Collections.Total, b.Collections.Total)) < 0 {
			least = i
		}
	}
	w.summaries = slices.Delete(w.summaries, least, least+1)
}

// unseenGroup is the group of the processes that cannot be seen from here.
const unseenGroup = "processes that cannot be seen"

// groupOf returns the group that a process shares its part of the sidecar with: by
// what the kernel says of it, the pod, the container or the user that it is of.
func groupOf(proc dotnetipc.Proc, id dotnetipc.Identity) string {
	if id.PID == 0 {
		return unseenGroup
	}
	if text, err := proc.Cgroup(id.PID); err == nil {
		if owner := cgroup.OwnerOf(text); owner != "" {
			return owner
		}
	}
	uid, err := proc.UID(id.PID)
	if err != nil {
		return unseenGroup // it has ended
	}
	return fmt.Sprintf("user %d", uid)
}

// memoryLimit returns how many bytes of memory the sidecar may have, 0 for any:
// GOMEMLIMIT, and what its cgroup leaves of it. Where there is no GOMEMLIMIT, the
// heap may grow to twice what is in use.
func memoryLimit() int64 {
	own := debug.SetMemoryLimit(-1)
	limit, err := cgroup.MemoryLimit(os.DirFS("/"), "self")
	switch set := own < unlimited; {
	case (err != nil || limit == 0 || limit >= unlimited) && set:
		return own
	case err != nil || limit == 0 || limit >= unlimited:
		return 0
	case set:
		return min(own, limit/4*3)
	}
	return limit / 2
}

// targetsWithin returns how many processes may be watched with limit bytes of memory, 0
// for any.
func targetsWithin(limit int64) int {
	if limit <= 0 {
		return maxTargets
	}
	return max(1, int(min(maxTargets, targetsPart*float64(limit)/targetBytes)))
}

// unlimited is more memory than a machine has: what the kernel and Go say for none.
const unlimited = 1 << 50
