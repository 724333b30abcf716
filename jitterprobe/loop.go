package jitterprobe

import (
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/spin"

	"github.com/otelgc/otelgc/stall"
)

// A loop looks for gaps on a thread, and writes them into a ring.
type loop struct {
	ring spin.Ring
	tid  int // of its thread, 0 if it has none of its own
	// begin makes the loop look for the first time. Until then the kernel has some
	// 100 ms to start its records of the thread: nothing else explains a gap.
	begin func()
	// halt ends the loop, and reports false if it would not end.
	halt func() bool
	// release frees the ring; only after halt.
	release func()

	origin   stall.Origin
	cpu      int
	timeline *spin.Timeline // converts ticks; nil if the records hold instants
	clock    stall.Clock
	slack    time.Duration // of instants
	blockLen uint64        // iterations of a block, 0 if the loop has none

	gaps     uint64
	gapTicks uint64
	backward uint64
	looks    uint64        // iterations
	late     time.Duration // sum of lateness that was no gap, of wake-ups
}

// startLoop starts the loop of a mode, which waits for begin. Cpu is -1 if it runs
// where it is put.
func startLoop(mode Mode, cpu int, o Options) (*loop, error) {
	l := &loop{origin: mode.Source(), cpu: cpu, clock: o.Clock, slack: o.Clock.Error()}
	if mode == Periodic {
		w := waker{loop: l, threshold: uint64(o.Threshold)}
		var width time.Duration
		w.offset, width = clockOffset(o.Clock)
		l.slack += width
		return l, l.run(w.wake)
	}
	l.timeline = newTimeline(o.Clock)
	threshold := thresholdTicks(o.Threshold, l.timeline)
	if mode == Runtime {
		l.blockLen = chunkLen
		return l, l.run(func() { l.spin(threshold) })
	}
	t, err := spin.Start(cpu, threshold, ringLen)
	if err != nil {
		return nil, err
	}
	l.ring, l.tid, l.blockLen = t.Ring, t.ID(), spin.BlockLen
	l.begin = t.Begin
	l.halt = func() bool { return t.Halt(haltPatience) }
	l.release = func() { _ = t.Release() } // nothing to be done about a failed munmap
	return l, nil
}

// haltPatience is how long Stop waits for a thread that does not get its CPU.
const haltPatience = 5 * time.Second

// run runs body on a goroutine, on a thread of its own if the loop has a CPU.
func (l *loop) run(body func()) error {
	l.ring = spin.NewRing(new(spin.Control), make([]spin.Record, ringLen))
	begun, done, ready := make(chan struct{}), make(chan struct{}), make(chan error)
	l.begin = func() { close(begun) }
	l.halt = func() bool {
		atomic.StoreUint64(&l.ring.Stop, 1)
		<-done
		return true
	}
	l.release = func() {}
	go onThread(l.cpu, func(tid int, err error) {
		defer close(done)
		l.tid = tid
		ready <- err
		if err == nil {
			<-begun
			body()
		}
	})
	return <-ready
}

// firstAnchors is the time between the first two anchors. It sets how well the
// threshold is known in ticks, 10 ppm, and nothing else.
const firstAnchors = 5 * time.Millisecond

// newTimeline returns a timeline that already knows the rate of the counter.
func newTimeline(clock stall.Clock) *spin.Timeline {
	t := spin.NewTimeline(clock)
	t.Add(spin.TakeAnchor(clock))
	time.Sleep(firstAnchors)
	t.Add(spin.TakeAnchor(clock))
	return t
}

func thresholdTicks(d time.Duration, t *spin.Timeline) uint64 {
	return max(1, uint64(float64(d)/t.NanosPerTick()))
}

// chunkLen is the number of looks between two returns to the runtime, about
// 2 us. A stop of the world shorter than a chunk is not seen; a longer chunk
// would miss more of them.
const chunkLen = 200

// spin is the loop of Runtime, in the state of a system call. It never reads the
// counter anew between two chunks, so no time goes unseen.
func (l *loop) spin(threshold uint64) {
	r, prev, iters := l.ring, spin.Now(), uint64(0)
	atomic.StoreUint64(&r.First, prev)
	for atomic.LoadUint64(&r.Stop) == 0 {
		left, last, now, out := spin.Syscall(prev, threshold, chunkLen)
		whole := left == 0
		if left == chunkLen { // the first look ended it: it began before the way out of the runtime
			last |= spin.Door
		}
		if !whole {
			r.Push(spin.Record{From: last, To: now})
		}
		if out-now >= threshold {
			r.Push(spin.Record{From: now | spin.Door, To: out})
			iters++ // the read of out ended a gap
			whole = false
		}
		iters += chunkLen - left
		if !whole && left > 0 {
			iters++
		}
		if whole {
			atomic.StoreUint64(&r.Whole, r.Whole+1)
			atomic.StoreUint64(&r.WholeTime, r.WholeTime+out-prev)
		}
		atomic.StoreUint64(&r.Iters, iters)
		atomic.StoreUint64(&r.Last, out)
		prev = out
	}
}

// waker is the loop of Periodic: it wakes at absolute times and records how late.
//
// Where this build has no precise sleep, an ordinary goroutine sleeps instead. Its gaps
// are the machine's or the runtime's: they are called host.unknown with the scope of a
// CPU, which no join charges.
type waker struct {
	*loop
	threshold uint64
	offset    int64 // Instant - Nanotime
}

// coarseThreshold is the least lateness that time.Sleep tells from its own: on some
// systems a timer has the grain of a tick, and the runtime adds its own.
const coarseThreshold = 2 * time.Millisecond

// clockOffset measures what turns Nanotime into an Instant, and its error.
// Both read one clock, so it stays.
func clockOffset(clock stall.Clock) (offset int64, width time.Duration) {
	best := int64(1 << 62)
	for range 16 {
		before := spin.Nanotime()
		at := clock.Now()
		if w := spin.Nanotime() - before; w < best {
			best, offset = w, int64(at)-before-w/2
		}
	}
	return offset, time.Duration(best/2 + 1)
}

func (w *waker) wake() {
	r, iters := w.ring, uint64(0)
	now := spin.Nanotime()
	atomic.StoreUint64(&r.First, w.instant(now))
	atomic.StoreUint64(&r.Last, w.instant(now))
	deadline := now
	for atomic.LoadUint64(&r.Stop) == 0 {
		// What the last wake-up swallowed is not slept for again.
		deadline += int64(period) * max(1, (now-deadline+int64(period)-1)/int64(period))
		woken, out := spin.Sleep(deadline)
		for woken < deadline { // a signal
			woken, out = spin.Sleep(deadline)
		}
		if late := uint64(woken - deadline); late < w.threshold {
			atomic.StoreUint64(&r.WholeTime, r.WholeTime+late)
		}
		w.push(deadline, woken, 0)
		w.push(woken, out, spin.Door)
		iters++
		atomic.StoreUint64(&r.Iters, iters)
		atomic.StoreUint64(&r.Last, w.instant(out))
		now = out
	}
}

func (w *waker) push(from, to int64, flag uint64) {
	if uint64(to-from) >= w.threshold {
		w.ring.Push(spin.Record{From: w.instant(from) | flag, To: w.instant(to)})
	}
}

func (w *waker) instant(nanos int64) uint64 { return uint64(nanos + w.offset) }

// freshLook is how long a thread that has its CPU may take to say that it
// looked: ten blocks of the loop.
const freshLook = 100 * time.Microsecond

// looked waits until the loop has looked once more, and reports false if it does
// not. A loop that sleeps is not waited for.
func (l *loop) looked() bool {
	if l.timeline == nil {
		return true
	}
	from := spin.Now()
	for limit := from + thresholdTicks(freshLook, l.timeline); spin.Now() < limit; {
		if atomic.LoadUint64(&l.ring.Last) > from {
			return true
		}
	}
	return false
}

// await waits until the loop has looked for the first time, at most for so long.
func (l *loop) await(patience time.Duration) {
	pause := 20 * time.Microsecond
	for end := time.Now().Add(patience); atomic.LoadUint64(&l.ring.Last) == 0 && time.Now().Before(end); {
		time.Sleep(pause)
		pause = min(2*pause, 5*time.Millisecond)
	}
}

// collect appends all gaps in the ring to gaps, with the cause that needs no evidence,
// then writes the loop's part of s.
func (l *loop) collect(s *Snapshot, gaps []Gap) []Gap {
	p := l.ring.Pulse()
	if p.Last == 0 {
		return gaps // it has not looked so far: its thread had no CPU
	}
	if l.timeline != nil {
		// After the pulse: every tick in it lies before this anchor.
		l.timeline.Add(spin.TakeAnchor(l.clock))
	}
	l.ring.Drain(p.Head, func(r spin.Record) {
		l.gaps++
		from := r.From &^ spin.Door
		if r.To <= from {
			l.backward++
			return
		}
		l.gapTicks += r.To - from
		start, slack := l.at(from)
		end, slackEnd := l.at(r.To)
		g := Gap{Interval: stall.Interval{
			Start: start, End: end, Slack: max(slack, slackEnd),
			Cause: stall.HostUnknown, Scope: stall.ScopeCPU, Origin: l.origin, CPU: int32(l.cpu),
		}}
		if r.From != from {
			g.Runtime, g.Cause, g.Scope = true, stall.RuntimeUnknown, stall.ScopeProcess
			g.Evidence = Evidence{Witness: RuntimeDoor, Time: g.Duration()}
		}
		gaps = append(gaps, g)
	})
	s.Start, _ = l.at(p.First)
	s.Watermark, _ = l.at(p.Last)
	s.Dropped, s.Backward = p.Drops, l.backward
	s.DroppedTime, s.DroppedMax = l.length(p.DropTicks), l.length(p.DropMax)
	l.looks = p.Iters
	if l.timeline == nil {
		l.late = time.Duration(p.WholeTime)
	}
	l.balance(&p, s)
	return gaps
}

// balance compares the iterations with the time that they must have taken. An
// iteration either ended a gap, or cost what it does in a block without one.
func (l *loop) balance(p *spin.Pulse, s *Snapshot) {
	if p.Whole == 0 || l.blockLen == 0 || p.Last <= p.First {
		return
	}
	look := float64(p.WholeTime) / float64(p.Whole*l.blockLen)
	quiet := p.Iters - min(p.Iters, l.gaps+p.Drops)
	s.Loop = look * l.rate()
	s.Balance = (float64(quiet)*look + float64(l.gapTicks+p.DropTicks)) / float64(p.Last-p.First)
}

func (l *loop) at(ticks uint64) (stall.Instant, time.Duration) {
	if l.timeline == nil {
		return stall.Instant(ticks), l.slack
	}
	return l.timeline.At(ticks)
}

func (l *loop) rate() float64 {
	if l.timeline == nil {
		return 1
	}
	return l.timeline.NanosPerTick()
}

func (l *loop) length(ticks uint64) time.Duration {
	return time.Duration(float64(ticks) * l.rate())
}
