// Package exact traces this process, and keeps what the trace says of its windows.
//
// A [Tracer] has the execution trace of the runtime in slices, within a budget of CPU
// time. It decodes each slice as it comes, generation by generation, about a second
// each. The stops and collections of a generation go to the timeline. What it says of
// the goroutines that carry windows goes to the [Store], from which the resolver takes
// it when the windows have ended.
//
// A window that is to be followed has a slot (package window). Its goroutine marks its
// begin by a user log with the slot's name, and joined goroutines mark that they join
// and leave.
package exact

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
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

const (
	beat        = 200 * time.Millisecond // of the tracer's goroutine
	silentAfter = 2 * time.Second        // a generation ends every second
	busyRetry   = 5 * time.Second        // after another user had the tracer
	longRest    = 10 * time.Second       // before which memory is given back
)

// Options say what a [Tracer] traces, and for whom.
type Options struct {
	Clock    stall.Clock
	Budget   float64            // of the process's CPU time, 0 to 1; 0 traces nothing
	Since    stall.Instant      // nothing is asked about the time before
	Slots    *window.Slots      // of the windows that are followed
	Timeline *timeline.Timeline // takes the stops and the collections
	Observer Observer
	Marking  *atomic.Bool // is set while windows are to leave marks; nil: one of the tracer's own
}

// Observer is told what a [Tracer] does. The tracer's goroutines wait for its methods.
type Observer interface {
	// Generation has a generation whose stops are in the timeline. It keeps nothing of g.
	Generation(g *gotrace.Generation)
	// Dropped counts what was lost.
	Dropped(item, why string, n uint64)
	// Failed reports why a slice could not be decoded.
	Failed(err error)
}

// Runtime is the tracer of the runtime.
type Runtime struct {
	Start  func(io.Writer) error
	Stop   func()
	Retry  time.Duration // after a slice that failed
	Silent time.Duration // until a stream that has ended counts as lost
}

// Tracer traces this process in slices, and rests in between as the governor
// says. Other readers of the trace are in sharing.go.
type Tracer struct {
	Store *Store

	// These may be changed before Start.
	Runtime  Runtime
	Limits   gotrace.Limits
	Observer Observer

	clock stall.Clock

	active  *atomic.Bool // windows leave marks
	readers atomic.Int32 // others who read the trace: ends are marked for them, too

	mu     sync.Mutex
	stream *stream       // that is being traced, nil if there is none
	holds  int           // calls of Pause
	until  stall.Instant // other readers want the slice to go on until then
	idle   chan struct{} // closed while no slice runs, replaced when one begins
	wake   chan struct{}

	quit chan struct{}
	done chan struct{}

	gov      governor
	joins    atomic.Int64 // ns of joining windows that are not charged yet
	windows  atomic.Int64 // ns that nearly all windows take
	lastWall stall.Instant
	lastCPU  time.Duration
	orphan   *stream // given up, though it may still be ours
	stopped  error   // why there will be no slice any more

	// Memory of the slices, one after the other.
	free   chan []byte
	reader *gotrace.Reader // nil before the first slice, and after a broken one
	pace   pacer.Pacer
}

// New returns a Tracer that has not begun.
func New(o Options) *Tracer {
	x := &Tracer{
		Store:    NewStore(o.Since, o.Clock, o.Slots, o.Timeline),
		Runtime:  Runtime{trace.Start, trace.Stop, busyRetry, silentAfter},
		Limits:   gotrace.Limits{GenerationBytes: maxGenerationBytes + 1, Transitions: maxTransitions},
		Observer: o.Observer,
		clock:    o.Clock, active: o.Marking, gov: newGovernor(o.Budget),
		wake: make(chan struct{}, 1), idle: make(chan struct{}),
		quit: make(chan struct{}), done: make(chan struct{}),
		free: newFree(),
	}
	if x.active == nil {
		x.active = new(atomic.Bool)
	}
	close(x.idle)
	return x
}

// Start begins to trace, unless the budget is 0.
func (x *Tracer) Start() {
	if x.gov.budget > 0 {
		go x.run()
	} else {
		close(x.done)
	}
}

// Stop ends the slice that is being traced, and returns when the tracer is free.
func (x *Tracer) Stop() {
	close(x.quit)
	<-x.done
}

// Marking reports whether a slice is being traced: then windows leave marks.
func (x *Tracer) Marking() bool { return x.active.Load() }

// Shared reports whether there are other readers of the trace, who know of windows by
// their marks alone.
func (x *Tracer) Shared() bool { return x.readers.Load() > 0 }

// Finished reports whether no slice will ever be traced again.
func (x *Tracer) Finished() bool { return isClosed(x.done) }

// Charge adds the CPU time that joining windows with the trace took to the cost of
// the next slice.
func (x *Tracer) Charge(took time.Duration) { x.joins.Add(int64(took)) }

// SetWindows sets how long nearly all windows take: slices are longer.
func (x *Tracer) SetWindows(length time.Duration) { x.windows.Store(int64(length)) }

// run traces in slices until Stop is called.
func (x *Tracer) run() {
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
		cost.join = time.Duration(x.joins.Swap(0))
		x.gov.charge(cost)
		wall, cpu := x.settle()
		rest = x.gov.rest(cost, wall, cpu)
		if err != nil {
			rest = max(rest, x.Runtime.Retry)
		}
		if rest > longRest {
			x.giveBack()
		}
	}
}

func (x *Tracer) quitting() bool { return isClosed(x.quit) }

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
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
func (x *Tracer) slice(length time.Duration) (cost sliceCost, err error) {
	defer x.release()
	x.reclaim()
	s := newStreamIn(x.clock, x.free)
	begin := x.clock.Now()
	if err := x.Runtime.Start(s); err != nil {
		x.Observer.Dropped("slice", "tracer_in_use", 1)
		return cost, fmt.Errorf("start tracer: %w", err)
	}
	x.orphan = nil // it could be started, so it is ours
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
		x.Runtime.Stop()
		cost.stop = x.clock.Now().Sub(stop)
	}
	cost.traced = x.clock.Now().Sub(begin)
	s.close()
	<-f.done
	f.addTo(&cost)
	if n := s.lost(); n > 0 {
		x.Observer.Dropped("generation", "decoder_behind", n)
	}
	return cost, errors.Join(err, x.broken(f))
}

// broken reports a stream that could not be decoded.
func (x *Tracer) broken(f *follower) error {
	if f.err == nil {
		return nil
	}
	x.Observer.Dropped("slice", "decode", 1)
	x.Observer.Failed(f.err)
	x.stopped = f.fatal()
	return f.err
}

// watch lets the slice run to its end. It returns nil when the tracer is ours
// beyond doubt and may be stopped, and an error if it was lost.
func (x *Tracer) watch(s *stream, f *follower, end stall.Instant) error {
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
		case s.silence() > x.Runtime.Silent:
			return x.lost(s)
		}
	}
}

// lost gives the stream up without a Stop. If it comes to life again, it was
// ours all along and reclaim stops it.
func (x *Tracer) lost(s *stream) error {
	x.orphan = s
	x.Observer.Dropped("slice", "tracer_lost", 1)
	return errTracerLost
}

// reclaim stops a stream that was given up, if it is written to after all.
func (x *Tracer) reclaim() {
	if x.orphan != nil && x.orphan.open() {
		x.Runtime.Stop()
		x.orphan = nil
	}
}

const (
	calibrations = 16 // the best counts: others may have lost the CPU
	logsEach     = 8
	// calibrationKey has not the prefix of marks: no goroutine is followed for it.
	calibrationKey = "otelgc calibration"
)

// calibrate measures what a user log costs here.
func (x *Tracer) calibrate() {
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
// tens of megabytes that are not used would make the program's collections rarer.
// To grow it anew is garbage, but once per slice.
func (x *Tracer) giveBack() {
	x.reader, x.free = nil, newFree()
	x.Store.giveBack()
}

// settle pays in for the time since it was last called.
func (x *Tracer) settle() (wall, cpu time.Duration) {
	now, used := x.clock.Now(), processCPU()
	wall, cpu = now.Sub(x.lastWall), used-x.lastCPU
	x.lastWall, x.lastCPU = now, used
	x.gov.earn(wall, cpu)
	return wall, cpu
}

// wait waits until rest is over and the tracer is not paused, or another reader asks for
// a slice. It reports false at the end.
func (x *Tracer) wait(rest time.Duration) bool {
	until := x.clock.Now().Add(rest)
	for !x.quitting() {
		now := x.clock.Now()
		x.Store.LearnUnseen(now)
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

// next reports whether a slice may begin now, and how long it is at least: other
// readers have it go on, see retire. If so, the tracer is claimed: Pause waits.
func (x *Tracer) next() (length time.Duration, wanted bool) {
	x.settle()
	if length = min(x.demand(), shortestSlice); length == 0 {
		if x.gov.overdrawn() {
			return 0, false
		}
		length = x.gov.plan(time.Duration(x.windows.Load()))
	}
	return length, x.claim()
}

// Untraceable says why the instants of an execution trace are none of clock, nil
// if they are. A trace has what the runtime reads of CLOCK_MONOTONIC, and where
// clock does not know what lies between the two, exact fidelity would charge
// requests with what happened at another time.
func Untraceable(clock stall.Clock) error {
	switch {
	case !clock.Shared():
		return fmt.Errorf("%w on %s: how the clock of a trace lies to ours is not known", stall.ErrNotSupported, runtime.GOOS)
	case clock.Namespace() != 0:
		return fmt.Errorf("%w in a time namespace of its own (its monotonic clock is off by %v)", stall.ErrNotSupported, clock.Namespace())
	}
	return nil
}
