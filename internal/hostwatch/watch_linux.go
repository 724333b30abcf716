package hostwatch

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
)

// slowEvery is the time between two reads of what is dear: the threads' own
// files.
const slowEvery = time.Second

// Watch watches one process. Its methods may be called from any goroutine.
type Watch struct {
	o         Options
	process   *hostcount.Process
	scheduler *scheduler // nil: counters only
	why       error      // why there is no scheduler

	// Of the goroutine that watches.
	timeline *timeline
	verdict  verdict
	throttle throttle
	events   []event
	taken    int           // events of the last batch
	mark     stall.Instant // end of the last batch
	hidden   stall.Instant // up to here the counters told that it may have been held up
	dropped  uint64
	first    hostcount.Counts
	last     hostcount.Counts
	delay    time.Duration      // run delay when the watch began
	pressed  hostcount.Pressure // when the watch began, and of the cgroup
	grouped  hostcount.Pressure
	slow     stall.Instant // when it was read last
	asked    bool          // the batch is for somebody who waits for it
	online   int           // CPUs of the machine, 0 if nobody says
	denied   []stall.Interval
	waits    []stall.Span            // of the batch
	ran      map[int32]time.Duration // CPU time of the threads of which nothing is known
	err      error

	mu      sync.Mutex
	totals  Totals
	history history

	ask  chan chan struct{} // who waits for a batch
	quit chan struct{}
	done chan struct{}
	once sync.Once
}

// Start watches a process until Stop, or until it ends. The error is
// [ErrTarget], or of the options. That the scheduler cannot be followed is no
// error, see [Watch.Exact].
func Start(o Options) (*Watch, error) {
	if o.Threshold == 0 {
		o.Threshold = DefaultThreshold
	}
	if o.MaxThreads == 0 {
		o.MaxThreads = DefaultMaxThreads
	}
	if o.Threshold < 0 || o.MaxThreads < 0 || o.OnBatch == nil {
		return nil, fmt.Errorf("watch process %d: threshold %v, at most %d threads, OnBatch %t", o.PID, o.Threshold, o.MaxThreads, o.OnBatch != nil)
	}
	if o.Clock == (stall.Clock{}) {
		clock, err := stall.NewClock()
		if err != nil {
			return nil, fmt.Errorf("watch process %d: %w", o.PID, err)
		}
		o.Clock = clock
	}
	p, err := hostcount.Open(os.DirFS("/"), o.PID)
	if err != nil {
		return nil, fmt.Errorf("watch process %d: %w", o.PID, err)
	}
	w := &Watch{
		o: o, process: p, timeline: newTimeline(o.MaxThreads, o.Threshold),
		ask: make(chan chan struct{}), quit: make(chan struct{}), done: make(chan struct{}),
	}
	w.follow()
	if err := w.count(); err != nil {
		return nil, errors.Join(fmt.Errorf("watch process %d: %w", o.PID, err), w.detach())
	}
	if err := w.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("watch process %d: %w", o.PID, err), w.detach())
	}
	go w.run()
	return w, nil
}

// Exact reports whether the scheduler is followed, and if not, why.
func (w *Watch) Exact() (ok bool, why error) { return w.scheduler != nil, w.why }

// Owner names the process in intervals.
func (w *Watch) Owner() stall.Owner { return w.process.Owner() }

// Totals returns what was counted up to the last batch.
func (w *Watch) Totals() Totals {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.totals
}

// Done is closed when the watch has ended: it was stopped, or the process is
// no more.
func (w *Watch) Done() <-chan struct{} { return w.done }

// Stop ends the watch. When it returns OnBatch is not called any more, and
// nothing is attached. Stopping again returns the same. The error is
// [ErrTarget] if the process ended before.
func (w *Watch) Stop() error {
	w.once.Do(func() { close(w.quit) })
	<-w.done
	return w.err
}

func (w *Watch) run() {
	defer close(w.done)
	timer := time.NewTimer(batchEvery)
	defer timer.Stop()
	for {
		stopped := false
		var taken chan struct{}
		select {
		case <-timer.C:
		case taken = <-w.ask:
		case <-w.quit:
			stopped = true
		}
		w.asked = taken != nil
		err := w.batch()
		if taken != nil {
			close(taken)
		}
		if stopped && !errors.Is(err, ErrTarget) || err != nil {
			w.err = errors.Join(err, w.detach())
			return
		}
		timer.Reset(w.pace())
	}
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
