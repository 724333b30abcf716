package jitterprobe

import (
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/ring"
	"github.com/otelgc/otelgc/jitterprobe/internal/tick"
	"github.com/otelgc/otelgc/stall"
)

// An engine is what runs the loop of one mode.
type engine interface {
	// feed returns the ring that the loop fills and how to read it.
	feed() *feed
	// thread returns the id of the thread that runs the loop, 0 if none does.
	thread() int
	// begin has a loop that spins look for the first time: for the kernel to keep
	// records of its thread takes it some 100 ms, and of a gap before that nobody
	// could say what it was.
	begin()
	// halt ends the loop, and reports false if it would not end.
	halt() bool
	// release frees the ring; only after halt.
	release()
}

// feed turns a ring of records into gaps.
type feed struct {
	ring ring.Ring
	// timeline converts ticks. Nil: the records hold instants.
	timeline *tick.Timeline
	clock    stall.Clock
	slack    time.Duration // of instants
	blockLen uint64        // iterations of a block, 0 if the loop has none

	gaps     uint64
	gapTicks uint64
	backward uint64
	looks    uint64        // iterations
	late     time.Duration // sum of lateness that was no gap, of wake-ups
}

// sighting is a gap before anybody has asked for its cause.
type sighting struct {
	start, end stall.Instant
	slack      time.Duration
	runtime    bool
}

// collect takes all gaps out of the ring, then writes its own part of s.
func (f *feed) collect(s *Snapshot, emit func(sighting)) {
	p := f.ring.Pulse()
	if p.Last == 0 {
		return // it has not looked so far: its thread had no CPU
	}
	if f.timeline != nil {
		// After the pulse: every tick in it lies before this anchor.
		f.timeline.Add(tick.TakeAnchor(f.clock))
	}
	f.ring.Drain(p.Head, func(r ring.Record) { f.see(r, emit) })
	s.Start, _ = f.at(p.First)
	s.Watermark, _ = f.at(p.Last)
	s.Dropped, s.Backward = p.Drops, f.backward
	s.DroppedTime, s.DroppedMax = f.length(p.DropTicks), f.length(p.DropMax)
	f.looks = p.Iters
	if f.timeline == nil {
		f.late = time.Duration(p.WholeTime)
	}
	f.balance(p, s)
}

// freshLook is how long a thread that has its CPU may take to say that it
// looked: ten blocks of the loop.
const freshLook = 100 * time.Microsecond

// looked waits until the loop has looked once more, and reports false if it does
// not. A loop that sleeps is not waited for.
func (f *feed) looked() bool {
	if f.timeline == nil {
		return true
	}
	from := tick.Now()
	for limit := from + thresholdTicks(freshLook, f.timeline); tick.Now() < limit; {
		if atomic.LoadUint64(&f.ring.Last) > from {
			return true
		}
	}
	return false
}

// await waits until the loop has looked for the first time, at most for so long.
func (f *feed) await(patience time.Duration) {
	pause := 20 * time.Microsecond
	for end := time.Now().Add(patience); atomic.LoadUint64(&f.ring.Last) == 0 && time.Now().Before(end); {
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
}

// balance holds the iterations against the time that they must have taken. An
// iteration either ended a gap, or cost what it does in a block without one.
func (f *feed) balance(p ring.Pulse, s *Snapshot) {
	if p.Whole == 0 || f.blockLen == 0 || p.Last <= p.First {
		return
	}
	loop := float64(p.WholeTime) / float64(p.Whole*f.blockLen)
	quiet := p.Iters - min(p.Iters, f.gaps+p.Drops)
	s.Loop = loop * f.rate()
	s.Balance = (float64(quiet)*loop + float64(f.gapTicks+p.DropTicks)) / float64(p.Last-p.First)
}

func (f *feed) see(r ring.Record, emit func(sighting)) {
	f.gaps++
	from := r.From &^ ring.Runtime
	if r.To <= from {
		f.backward++
		return
	}
	f.gapTicks += r.To - from
	start, slack := f.at(from)
	end, slackEnd := f.at(r.To)
	emit(sighting{start, end, max(slack, slackEnd), r.From != from})
}

func (f *feed) at(ticks uint64) (stall.Instant, time.Duration) {
	if f.timeline == nil {
		return stall.Instant(ticks), f.slack
	}
	return f.timeline.At(ticks)
}

func (f *feed) rate() float64 {
	if f.timeline == nil {
		return 1
	}
	return f.timeline.NanosPerTick()
}

func (f *feed) length(ticks uint64) time.Duration {
	return time.Duration(float64(ticks) * f.rate())
}
