package otelgc

import (
	"io"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/pacer"
	"github.com/otelgc/otelgc/stall"
)

const (
	beat        = 200 * time.Millisecond // of the tracer's goroutine
	silentAfter = 2 * time.Second        // a generation ends every second
	busyRetry   = 5 * time.Second        // after somebody else had the tracer
	longRest    = 10 * time.Second       // before which memory is given back
)

// exact traces this process in slices, and rests in between as the governor
// says. What goes on within a slice is in slice.go, who else wants a say in
// when there is one in holds.go.
type exact struct {
	clock  stall.Clock
	budget float64
	tracer tracer
	report func(item, why string, n uint64) // what was lost
	fail   func(error)                      // tells the operator
	learn  learner

	active  atomic.Bool  // windows leave marks
	readers atomic.Int32 // others who read the trace: their ends are marked too

	mu     sync.Mutex
	stream *stream       // that is being traced, nil if there is none
	holds  int           // PauseExact
	until  stall.Instant // a trace handler wants to be served until then
	idle   chan struct{} // closed while no slice runs, replaced when one begins
	wake   chan struct{}

	quit chan struct{}
	done chan struct{}

	gov      governor
	joined   atomic.Int64         // ns that windows took to join that were followed, not charged yet
	slowest  func() time.Duration // what nearly all windows take
	lastWall stall.Instant
	lastCPU  time.Duration
	orphan   *stream // given up, though it may still be ours
	stopped  error   // exact fidelity is not to be had here

	// Memory of the slices, one after the other.
	limits gotrace.Limits
	free   chan []byte
	reader *gotrace.Reader // nil before the first slice, and after a broken one
	pace   pacer.Pacer
}

// tracer is the tracer of the runtime, or of a test.
type tracer struct {
	start func(io.Writer) error
	stop  func()
	retry time.Duration // after a slice that failed
	// silent is how long a stream that has ended may be silent until it is lost.
	silent time.Duration
}

// learner takes what the decoder found, on the decoder's goroutine.
type learner interface {
	// carriers returns the goroutines to be followed from the slice's begin on.
	carriers() []uint64
	// learnGeneration may keep nothing of g. It returns the goroutines that
	// carry no window any more.
	learnGeneration(g *gotrace.Generation, pace *pacer.Pacer) (unfollow []uint64)
	// giveBack lets go of memory that only the next slice would use.
	giveBack()
	// learnUnseen says that what was not watched before t never will be.
	learnUnseen(t stall.Instant)
}

func newExact(clock stall.Clock, budget float64) *exact {
	x := &exact{
		clock: clock, budget: budget, gov: newGovernor(budget),
		tracer: tracer{trace.Start, trace.Stop, busyRetry, silentAfter},
		wake:   make(chan struct{}, 1), idle: make(chan struct{}),
		quit: make(chan struct{}), done: make(chan struct{}),
		free:   newFree(),
		limits: gotrace.Limits{GenerationBytes: maxGenerationBytes + 1, Transitions: maxTransitions},
	}
	close(x.idle)
	return x
}

// marking reports whether windows are to leave marks in the trace.
func (x *exact) marking() bool { return x.active.Load() }

// shared reports whether others read the trace, who know of windows only by it.
func (x *exact) shared() bool { return x.readers.Load() > 0 }

// run traces in slices until stop is called.
func (x *exact) run() {
	defer close(x.done)
	defer x.reclaim()
	x.lastWall, x.lastCPU = x.clock.Now(), processCPU()
	var rest time.Duration
	for x.wait(rest) {
		length, wanted := x.next()
		if !wanted {
			rest = beat
			continue
		}
		cost, err := x.slice(length)
		if x.stopped != nil {
			return // the runtime's format is not known: every slice would be in vain
		}
		cost.join = time.Duration(x.joined.Swap(0))
		x.gov.charge(cost)
		wall, cpu := x.settle()
		rest = x.gov.rest(cost, wall, cpu)
		if err != nil {
			rest = max(rest, x.tracer.retry)
		}
		if rest > longRest {
			x.giveBack()
		}
	}
}

func (x *exact) quitting() bool { return isClosed(x.quit) }

// finished reports whether no slice will ever be traced again.
func (x *exact) finished() bool { return isClosed(x.done) }

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// stop ends the run, and the slice that is being traced.
func (x *exact) stop() {
	close(x.quit)
	<-x.done
}
