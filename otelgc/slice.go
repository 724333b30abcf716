package otelgc

import (
	"context"
	"errors"
	"fmt"
	"runtime/trace"
	"time"

	"github.com/otelgc/otelgc/stall"
)

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
