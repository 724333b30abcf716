package gcwatch

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// DefaultPoll is the default of [Options.Poll].
const DefaultPoll = 100 * time.Millisecond

// Options says how to watch.
type Options struct {
	Clock stall.Clock // required
	// Poll is how often, without a GC cycle, the watermark advances and what
	// the finalizer missed is caught. Default [DefaultPoll].
	Poll time.Duration
	// OnNotice gets every notice, in order, on the watcher's one goroutine.
	// The notice is used again after it returns. It must not block long, and
	// must not call Stop or Flush. Required.
	OnNotice func(*Notice)
}

// Watcher watches the GC cycles of this process.
type Watcher struct {
	onNotice func(*Notice)
	bell     *bell
	flush    chan struct{} // capacity 1
	turns    *Turns
	stop     chan struct{}
	done     chan struct{}
	once     sync.Once

	// Of the watcher's goroutine alone:
	reader    *reader
	cur, prev *reading
	ledger    ledger
	mark      watermark
	notice    Notice
	kind      gc.Kind
	pauses    []gc.Pause    // memory of the notice's collections
	index     uint64        // cycles counted, of the process
	automatic uint64        // of index
	missed    uint64        // cycles of which only the count is known
	left      heapLeft      // of the newest cycle counted
	lastEnd   stall.Instant // no cycle counted ended after it, and no later one began before it
	otherFrom stall.Instant // begin of the last reading in which every other stop was settled
	born      stall.Instant // when the process began, if bornKnown
	bornKnown bool
}

// Start watches from now on. The cycle in progress, if there is one, is the
// first to be seen. The error is [stall.ErrNotSupported] if this runtime lacks
// a metric.
func Start(o Options) (*Watcher, error) {
	w, err := newWatcher(o)
	if err != nil {
		return nil, err
	}
	w.begin()
	w.listen(o.Poll)
	return w, nil
}

// newWatcher prepares a watcher that has not begun.
func newWatcher(o Options) (*Watcher, error) {
	switch {
	case o.Clock == stall.Clock{}:
		return nil, errors.New("start gc watcher: no clock")
	case o.OnNotice == nil:
		return nil, errors.New("start gc watcher: no function to notify")
	case o.Poll < 0:
		return nil, fmt.Errorf("start gc watcher: poll interval %v is negative", o.Poll)
	}
	r, err := newReader(o.Clock)
	if err != nil {
		return nil, fmt.Errorf("start gc watcher: %w", err)
	}
	return &Watcher{
		onNotice: o.OnNotice,
		flush:    make(chan struct{}, 1),
		turns:    NewTurns(),
		stop:     make(chan struct{}),
		done:     make(chan struct{}),
		reader:   r,
		cur:      new(reading),
		prev:     new(reading),
		kind:     KindOf(os.Getenv("GODEBUG")),
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
	if age, ok := processAge(); ok {
		w.born, w.bornKnown = w.reader.now().Add(-age), true
	}
}

// listen starts the watcher's goroutine.
func (w *Watcher) listen(poll time.Duration) {
	if poll == 0 {
		poll = DefaultPoll
	}
	w.bell = startBell()
	go w.run(poll)
}

func (w *Watcher) run(poll time.Duration) {
	defer close(w.done)
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	for {
		select {
		case <-w.bell.rung:
			w.deliver()
		case <-ticker.C:
			w.deliver()
		case <-w.flush:
			w.deliver()
		case <-w.stop:
			w.deliver()
			return
		}
		w.turns.End()
	}
}

// Flush delivers a notice now and returns when it was delivered. After Stop it
// does nothing.
func (w *Watcher) Flush() {
	for range 2 { // what is being delivered may have been read before
		over := w.turns.Over()
		select {
		case w.flush <- struct{}{}:
		default: // somebody else's is to come
		}
		select {
		case <-over:
		case <-w.done:
			return
		}
	}
}

// Stop delivers one last notice, so that no cycle is missed, and returns when
// the watcher's goroutine is gone. It may be called more than once.
func (w *Watcher) Stop() {
	w.once.Do(func() {
		w.bell.off.Store(true)
		close(w.stop)
	})
	<-w.done
}
