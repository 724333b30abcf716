package hostwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// slowEvery is the time between two reads of what is dear: the threads' own
// files.
const slowEvery = time.Second

// Watch watches one process. It is a [source.Source]: Next and Observations belong to
// one goroutine. Its other methods may be called from any.
type Watch struct {
	o         Options
	process   *hostcount.Process
	scheduler *scheduler // nil: counters only
	why       error      // why there is no scheduler

	// Of a look.
	timeline *timeline
	verdict  verdict
	throttle throttle
	events   []event
	taken    int           // events of the last batch
	mark     stall.Instant // end of the last batch
	hidden   stall.Instant // up to here it may have been held up, by the counters
	dropped  uint64
	first    hostcount.Counts
	last     hostcount.Counts
	delay    time.Duration      // run delay when the watch began
	pressed  hostcount.Pressure // when the watch began, and of the cgroup
	grouped  hostcount.Pressure
	slow     stall.Instant // when it was read last
	asked    bool          // a caller waits for the batch
	online   int           // CPUs of the machine, 0 if not known
	denied   []stall.Interval
	waits    []stall.Span            // of the batch
	ran      map[int32]time.Duration // CPU time of the threads of which nothing is known
	err      error

	// Of a look, or of the last one after the end: guarded by turn.
	turn   sync.Mutex
	over   bool
	seen   Observations
	fresh  bool         // Next has not returned it
	given  Observations // what Next returned last; its caller may be reading it
	lost   uint64
	unseen []stall.Span
	timer  *time.Timer

	mu      sync.Mutex
	totals  hostcount.Totals
	history history

	ask  chan chan struct{} // callers that wait for a batch
	quit chan struct{}
	done chan struct{}
	once sync.Once
}

var _ source.Source = (*Watch)(nil)

// New watches a process until Close, or until it ends. The error is [ErrTarget]. That the scheduler cannot be followed is no error, see
// [Watch.Exact].
func New(o Options) (*Watch, error) {
	p, err := hostcount.Open(os.DirFS("/"), o.PID)
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", o.PID, err)
	}
	w := &Watch{
		o: o, process: p, timeline: newTimeline(maxThreads, threshold),
		ask: make(chan chan struct{}), quit: make(chan struct{}), done: make(chan struct{}),
	}
	w.follow()
	if err := w.count(); err != nil {
		return nil, errors.Join(fmt.Errorf("watch process %d: %w", o.PID, err), w.detach())
	}
	if err := w.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("watch process %d: %w", o.PID, err), w.detach())
	}
	w.timer = time.NewTimer(batchEvery)
	return w, nil
}

// Exact reports whether the scheduler is followed, and if not, why.
func (w *Watch) Exact() (ok bool, why error) { return w.scheduler != nil, w.why }

// Owner names the process in intervals.
func (w *Watch) Owner() stall.Owner { return w.process.Owner() }

// Totals returns what was counted up to the last batch.
func (w *Watch) Totals() hostcount.Totals {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.totals
}

// Next waits until the machine has been looked at again, four to ten times a second.
// Time of which it is not known whether the machine held the process up is unseen. The
// error is io.EOF when the watch is over: it was closed, or the process has ended.
func (w *Watch) Next(ctx context.Context) (source.Batch, error) {
	var taken chan struct{}
	select {
	case <-w.timer.C:
	case taken = <-w.ask:
		defer close(taken)
	case <-w.quit:
	case <-ctx.Done():
		return source.Batch{}, ctx.Err()
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	if w.over {
		if !w.fresh {
			return source.Batch{}, io.EOF
		}
		return w.batch(), nil
	}
	w.asked = taken != nil
	if err := w.look(); err != nil {
		w.end(err)
		return source.Batch{}, io.EOF
	}
	w.timer.Reset(w.pace())
	return w.batch(), nil
}

// batch returns what the last look saw.
func (w *Watch) batch() source.Batch {
	w.given, w.fresh = w.seen, false
	o := &w.given
	b := source.Batch{Watermark: o.Span.End, Intervals: o.Denied, Lost: source.Loss{Count: o.Totals.Dropped - w.lost}}
	w.lost = o.Totals.Dropped
	w.unseen = w.unseen[:0]
	at := o.Span.Start
	for _, s := range o.Covered {
		if at < s.Start {
			w.unseen = append(w.unseen, stall.Span{Start: at, End: s.Start})
		}
		at = s.End
	}
	if at < o.Span.End {
		w.unseen = append(w.unseen, stall.Span{Start: at, End: o.Span.End})
	}
	b.Unseen = w.unseen
	return b
}

// Observations returns more of the last batch. They belong to the caller of Next, and
// are valid until the next call.
func (w *Watch) Observations() *Observations { return &w.given }

// Close looks once more, for Next, and ends the watch. When it returns nothing is
// attached. Closing again returns the same. The error is [ErrTarget] if the process
// ended before.
func (w *Watch) Close() error {
	w.once.Do(func() {
		close(w.quit)
		w.turn.Lock()
		defer w.turn.Unlock()
		if !w.over {
			// The caller of Next may be reading these: a last look has its own.
			w.denied, w.verdict.covered = nil, nil
			w.end(w.look())
		}
	})
	return w.err
}

// end detaches. The caller holds w.turn.
func (w *Watch) end(err error) {
	w.err = errors.Join(err, w.detach())
	w.over = true
	w.timer.Stop()
	close(w.done)
}

// pace returns the time to the next batch.
func (w *Watch) pace() time.Duration {
	if w.taken > manyEvents {
		return batchEvery
	}
	return restEvery
}

func (w *Watch) detach() error {
	w.process.Close()
	if w.scheduler == nil {
		return nil
	}
	if err := w.scheduler.close(); err != nil {
		return fmt.Errorf("detach from the scheduler: %w", err)
	}
	return nil
}

// During returns what the machine did to the process in s, see
// [gc.HostDuring]. It has the watch look at once if it has not seen all of s:
// Next has to be called meanwhile, on another goroutine.
func (w *Watch) During(s stall.Span) gc.HostDuring {
	w.reach(s.End)
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.history.during(s)
}

// reach returns when the watch has taken in all before t, unless t is to come.
func (w *Watch) reach(t stall.Instant) {
	w.mu.Lock()
	last := w.history.Last()
	w.mu.Unlock()
	behind := t.Add(2 * holdBack) // events come a little later
	if last >= behind {
		return
	}
	if ahead := behind.Sub(w.o.Clock.Now()); ahead > 0 {
		time.Sleep(min(ahead, 2*holdBack))
	}
	taken := make(chan struct{})
	select {
	case w.ask <- taken:
	case <-w.done:
		return
	}
	select {
	case <-taken:
	case <-w.done:
	}
}
