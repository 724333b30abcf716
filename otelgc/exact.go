package otelgc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
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
// says. The other readers of the trace are in sharing.go.
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

// The tracer has one user at a time: a foreign trace.Stop ends our stream
// without a word, and our Stop would end a foreign trace. So nothing is stopped
// unless our stream is open, in the midst of a generation. That is proof: the
// runtime writes the first batch of a generation as soon as the last one is
// over, and the end of a generation is the last it writes to a stream before
// anybody else can have the tracer (runtime/trace.go, traceAdvance).

var errTracerLost = errors.New("the tracer is no longer ours")

// slice traces for length. An error says that the tracer was not to be had, or
// was lost, or that its stream could not be decoded. The tracer was claimed.
func (x *exact) slice(length time.Duration) (cost sliceCost, err error) {
	defer x.release()
	x.reclaim()
	s := newStreamIn(x.clock, x.free)
	begin := x.clock.Now()
	if err := x.tracer.start(s); err != nil {
		x.report("slice", "tracer_in_use", 1)
		return cost, fmt.Errorf("start tracer: %w", err)
	}
	x.orphan = nil // whoever can start it, nobody else has it
	cost.start = x.clock.Now().Sub(begin)
	x.serve(s)
	f := newFollower(x, s)
	go f.run()
	x.calibrate()
	x.active.Store(true)
	err = x.watch(s, f, begin.Add(length))
	x.active.Store(false)
	if err == nil {
		stop := x.clock.Now()
		x.tracer.stop()
		cost.stop = x.clock.Now().Sub(stop)
	}
	cost.traced = x.clock.Now().Sub(begin)
	s.close()
	<-f.done
	f.addTo(&cost)
	if n := s.lost(); n > 0 {
		x.report("generation", "decoder_behind", n)
	}
	return cost, errors.Join(err, x.broken(f))
}

// broken tells of a stream that could not be decoded.
func (x *exact) broken(f *follower) error {
	if f.err == nil {
		return nil
	}
	x.report("slice", "decode", 1)
	x.fail(fmt.Errorf("exact fidelity: %w", f.err))
	x.stopped = f.fatal()
	return f.err
}

// watch lets the slice run to its end. It returns nil when the tracer is ours
// beyond doubt and may be stopped, and an error if it was lost.
func (x *exact) watch(s *stream, f *follower, end stall.Instant) error {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	quit, broken := x.quit, f.gaveUp
	for {
		select {
		case <-ticker.C:
		case <-x.wake:
		case <-broken:
			broken = nil
		case <-quit:
			quit = nil
		}
		switch {
		case s.open():
			if x.retire(end, f.failed()) {
				return nil
			}
		case s.silence() > x.tracer.silent:
			return x.lost(s)
		}
	}
}

// lost gives the stream up without a Stop. If it comes to life again, it was
// ours all along and reclaim stops it.
func (x *exact) lost(s *stream) error {
	x.orphan = s
	x.report("slice", "tracer_lost", 1)
	return errTracerLost
}

// reclaim stops a stream that was given up, if it is written to after all.
func (x *exact) reclaim() {
	if x.orphan != nil && x.orphan.open() {
		x.tracer.stop()
		x.orphan = nil
	}
}

const (
	calibrations = 16 // the best counts: others may have lost the CPU
	logsEach     = 8
	// calibrationKey has not the prefix of marks: nobody is to be followed.
	calibrationKey = "otelgc calibration"
)

// calibrate measures what a user log costs here.
func (x *exact) calibrate() {
	best := time.Hour
	for range calibrations {
		begin := x.clock.Now()
		for range logsEach {
			trace.Log(context.Background(), calibrationKey, "")
		}
		best = min(best, x.clock.Now().Sub(begin)/logsEach)
	}
	x.gov.calibrate(best)
}

// giveBack lets go of the memory of the slices: the next one is not soon, and
// tens of megabytes that nobody uses would make the program's collections rarer.
// To grow it anew is garbage, but once per slice.
func (x *exact) giveBack() {
	x.reader, x.free = nil, newFree()
	x.learn.giveBack()
}

// settle pays in for the time since it was last called.
func (x *exact) settle() (wall, cpu time.Duration) {
	now, used := x.clock.Now(), processCPU()
	wall, cpu = now.Sub(x.lastWall), used-x.lastCPU
	x.lastWall, x.lastCPU = now, used
	x.gov.earn(wall, cpu)
	return wall, cpu
}

// wait lets the unseen time pass until rest is over and nobody holds the tracer,
// or a trace handler asks for a slice, or the end (false).
func (x *exact) wait(rest time.Duration) bool {
	until := x.clock.Now().Add(rest)
	for !x.quitting() {
		now := x.clock.Now()
		x.learn.learnUnseen(now)
		left := until.Sub(now)
		if x.held() {
			left = beat
		}
		if left <= 0 {
			return true
		}
		timer := time.NewTimer(min(left, beat))
		select {
		case <-x.quit:
		case <-x.wake:
			if x.demand() > 0 {
				timer.Stop()
				return true
			}
		case <-timer.C:
		}
		timer.Stop()
	}
	return false
}

// next says whether a slice may begin now, and how long it is to be at least:
// who asked for one has it go on, see retire. If so, the tracer is claimed against
// those who hold it.
func (x *exact) next() (length time.Duration, wanted bool) {
	x.settle()
	if length = min(x.demand(), shortestSlice); length == 0 {
		if x.gov.overdrawn() {
			return 0, false
		}
		length = x.gov.plan(x.slowest())
	}
	return length, x.claim()
}

// untraceable says why the instants of an execution trace are none of clock, nil
// if they are. A trace has what the runtime reads of CLOCK_MONOTONIC, and where
// clock does not know what lies between the two, exact fidelity would charge
// requests with what happened at another time.
func untraceable(clock stall.Clock) error {
	switch {
	case !clock.Shared():
		return fmt.Errorf("%w on %s: nobody tells how the clock of a trace lies to ours", stall.ErrNotSupported, runtime.GOOS)
	case clock.Namespace() != 0:
		return fmt.Errorf("%w in a time namespace of its own (its monotonic clock is off by %v)", stall.ErrNotSupported, clock.Namespace())
	}
	return nil
}
