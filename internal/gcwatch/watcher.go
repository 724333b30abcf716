package gcwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// DefaultPoll is the default of [Options.Poll].
const DefaultPoll = 100 * time.Millisecond

// Options says how to watch.
type Options struct {
	Clock stall.Clock // required
	// Poll is how often, without a GC cycle, the watermark advances and what
	// the finalizer missed is caught. Default [DefaultPoll].
	Poll time.Duration
}

// Watcher watches the GC cycles of this process. It is a [source.Source] whose
// intervals have the index of their collection as Ref. Next and Observations
// belong to one goroutine.
type Watcher struct {
	bell   *bell
	flush  chan struct{} // capacity 1
	closed chan struct{}
	once   sync.Once

	// Of the caller of Next alone:
	ticker     *time.Ticker
	over       bool
	reader     *reader
	cur, prev  *reading
	ledger     ledger
	mark       watermark
	batch      source.Batch
	seen       Observations
	kind       gc.Kind
	pauses     []gc.Pause    // memory of the batch's collections
	index      uint64        // cycles counted, of the process
	automatic  uint64        // of index
	missed     uint64        // cycles of which only the count is known
	left       heapLeft      // of the newest cycle counted
	lastEnd    stall.Instant // no cycle counted ended after it, and no later one began before it
	otherFrom  stall.Instant // begin of the last reading in which every other stop was settled
	started    stall.Instant // when the process began, if startKnown
	startKnown bool
}

var (
	_ source.Source  = (*Watcher)(nil)
	_ source.Flusher = (*Watcher)(nil)
)

// New watches from now on. The cycle in progress, if there is one, is the first to
// be seen. The error is [stall.ErrNotSupported] if this runtime lacks a metric.
func New(o Options) (*Watcher, error) {
	w, err := newWatcher(o)
	if err != nil {
		return nil, err
	}
	w.begin()
	if o.Poll == 0 {
		o.Poll = DefaultPoll
	}
	w.ticker, w.bell = time.NewTicker(o.Poll), startBell()
	return w, nil
}

// newWatcher prepares a watcher that has not begun.
func newWatcher(o Options) (*Watcher, error) {
	switch {
	case o.Clock == stall.Clock{}:
		return nil, errors.New("start gc watcher: no clock")
	case o.Poll < 0:
		return nil, fmt.Errorf("start gc watcher: poll interval %v is negative", o.Poll)
	}
	r, err := newReader(o.Clock)
	if err != nil {
		return nil, fmt.Errorf("start gc watcher: %w", err)
	}
	return &Watcher{
		flush:  make(chan struct{}, 1),
		closed: make(chan struct{}),
		reader: r,
		cur:    new(reading),
		prev:   new(reading),
		kind:   KindOf(os.Getenv("GODEBUG")),
	}, nil
}

// begin takes the first reading, from which everything is a difference.
func (w *Watcher) begin() {
	w.reader.wall.begin()
	w.reader.wall.end()
	w.reader.read(w.cur)
	w.ledger.edges = w.reader.edges()
	w.ledger.rebase(w.cur, false)
	w.index = uint64(w.cur.cycles)
	w.automatic = uint64(w.cur.cycles - w.cur.forced)
	w.left = heapLeft{heap: objectsNow(), allocated: w.cur.allocBytes}
	w.lastEnd, w.otherFrom, w.mark.at = w.cur.begin, w.cur.begin, w.cur.begin
	if age, err := proc.Age(os.DirFS("/"), "self"); err == nil {
		w.started, w.startKnown = w.reader.now().Add(-age), true
	}
}

// Next waits for a cycle to end, for the next poll, or for Flush. After Close it
// returns one more batch, so that no cycle is missed, and then io.EOF.
func (w *Watcher) Next(ctx context.Context) (source.Batch, error) {
	if w.over {
		return source.Batch{}, io.EOF
	}
	select {
	case <-w.bell.rung:
	case <-w.ticker.C:
	case <-w.flush:
	case <-w.closed:
		w.over = true
		w.ticker.Stop()
	case <-ctx.Done():
		return source.Batch{}, ctx.Err()
	}
	w.look()
	if w.over {
		w.giveUpLast()
	}
	return w.batch, nil
}

// Observations returns what metrics need beside the last batch. It is valid until
// the next call of Next.
func (w *Watcher) Observations() *Observations { return &w.seen }

// Flush has Next return at once with what is known by then.
func (w *Watcher) Flush() {
	select {
	case w.flush <- struct{}{}:
	default: // one is pending
	}
}

// Close ends the watch. It does not wait for Next.
func (w *Watcher) Close() error {
	w.once.Do(func() {
		w.bell.off.Store(true)
		close(w.closed)
	})
	return nil
}

// bell is what the finalizer rings. The watcher holds the bell and not the sentinel:
// a sentinel that is referenced is never collected.
type bell struct {
	rung chan struct{} // capacity 1: rings that were not heard yet are one
	off  atomic.Bool
}

// sentinel is an object that nothing refers to: each cycle finds it dead.
// A finalizer resurrects it and arms it again, which costs no allocation.
// A cleanup (runtime.AddCleanup) would need a new object each time, and runs
// only when the whole heap is swept, so it is late and misses cycles.
type sentinel struct{ bell *bell }

// startBell returns a bell that rings after GC cycles until it is off.
func startBell() *bell {
	b := &bell{rung: make(chan struct{}, 1)}
	runtime.SetFinalizer(&sentinel{b}, (*sentinel).found)
	return b
}

// found runs on the runtime's one finalizer goroutine, and must not block it.
func (s *sentinel) found() {
	if s.bell.off.Load() {
		return // not armed again: the next cycle frees it
	}
	select {
	case s.bell.rung <- struct{}{}:
	default:
	}
	runtime.SetFinalizer(s, (*sentinel).found)
}
