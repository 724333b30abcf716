package hostwatch

import (
	"encoding/binary"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// state is what a thread does.
type state uint8

const (
	unknown state = iota // ready or running since before the first event
	blocked
	stopped // by a signal, a debugger or a freezer
	ready   // and not running
	running
)

// thread is what is known of one thread.
type thread struct {
	state state
	since stall.Instant
	// queued is when one that is ready was put among those that wait, 0 if that is
	// not known: the kernel counts from then.
	queued stall.Instant
	// given is how far a wait that is not over was given away.
	given stall.Instant
	// disk says that a blocked thread may be waiting for one.
	disk bool
}

// timeline follows the threads of a process through the events of the
// scheduler. It is given them in the order of time.
type timeline struct {
	threads   map[int32]thread
	limit     int           // of threads
	threshold time.Duration // the shortest wait that is given away

	waits, runs, disks []stall.Span // of the batch
	stops              []stall.Span // a thread was stopped, or may have been
	delay              time.Duration
	over               bool // threads were not followed, for the limit
}

func newTimeline(limit int, threshold time.Duration) *timeline {
	return &timeline{threads: map[int32]thread{}, limit: limit, threshold: threshold}
}

// begin forgets the last batch.
func (l *timeline) begin() {
	l.waits, l.runs, l.disks, l.stops = l.waits[:0], l.runs[:0], l.disks[:0], l.stops[:0]
	l.over, l.delay = false, 0
}

// put sets a thread that no event has named.
func (l *timeline) put(tid int32, s state, at stall.Instant) {
	if l.room() {
		l.threads[tid] = thread{state: s, since: at, given: at}
	}
}

func (l *timeline) room() bool {
	if len(l.threads) >= l.limit {
		l.over = true
		return false
	}
	return true
}

// take takes in the next event.
func (l *timeline) take(e event) {
	t, known := l.threads[e.tid]
	if !known && !l.room() {
		return
	}
	switch e.kind {
	case waking, woken:
		switch {
		case t.state == ready && e.kind == woken && t.queued == 0:
			t.queued = e.at
		case t.state == ready, t.state == running, known && t.state == unknown:
			return // woken again before it slept, or it may have been
		default:
			l.leave(&t, e.at)
			t = thread{state: ready, since: e.at, given: e.at}
			if e.kind == woken {
				t.queued = e.at
			}
		}
	case in:
		l.leave(&t, e.at)
		t = thread{state: running, since: e.at}
	case out:
		l.leave(&t, e.at)
		switch {
		case e.state&dead != 0:
			delete(l.threads, e.tid)
			return
		case e.state == 0:
			t = thread{state: ready, since: e.at, given: e.at, queued: e.at}
		case e.state&held != 0:
			t = thread{state: stopped, since: e.at}
		default:
			t = thread{state: blocked, since: e.at, disk: e.state&uninterruptible != 0}
		}
	}
	l.threads[e.tid] = t
}

// leave notes what t did up to now.
func (l *timeline) leave(t *thread, now stall.Instant) {
	switch {
	case t.state == running:
		l.runs = append(l.runs, stall.Span{Start: t.since, End: now})
	case t.state == ready:
		l.delay += now.Sub(max(t.queued, t.given))
		if t.given > t.since || now.Sub(t.since) >= l.threshold {
			l.waits = append(l.waits, stall.Span{Start: t.given, End: now})
		}
	case t.state == blocked && t.disk && now.Sub(t.since) >= l.threshold:
		l.disks = append(l.disks, stall.Span{Start: t.since, End: now})
	case t.state == stopped:
		l.stops = append(l.stops, stall.Span{Start: t.since, End: now})
	}
}

// end gives away what goes on at the end of the batch, and reports whether
// every thread was followed.
func (l *timeline) end(now stall.Instant) (whole bool) {
	whole = !l.over
	for tid, t := range l.threads {
		switch t.state {
		case unknown:
			whole = false
			continue
		case running:
			l.runs = append(l.runs, stall.Span{Start: t.since, End: now})
			t.since = now
		case ready:
			// A wait that is short so far is given away too: at the end of a
			// batch it is not known how long it will be.
			l.waits = append(l.waits, stall.Span{Start: t.given, End: now})
			l.delay += now.Sub(max(t.queued, t.given))
			t.given = now
		case blocked:
			if t.disk {
				l.disks = append(l.disks, stall.Span{Start: t.since, End: now})
			}
			continue
		case stopped:
			l.stops = append(l.stops, stall.Span{Start: t.since, End: now})
			t.since = now
		}
		l.threads[tid] = t
	}
	return whole
}

// hide says that threads may have been held up in s without an event. Counters are
// read a little later than a batch ends: what they tell may be of the next one, too.
func (l *timeline) hide(s stall.Span) { l.stops = append(l.stops, s) }

// settle makes now the beginning of all that goes on.
func (l *timeline) settle(now stall.Instant) {
	for tid, t := range l.threads {
		t.since, t.given = now, now
		l.threads[tid] = t
	}
	l.begin()
}

// forget forgets every thread.
func (l *timeline) forget() {
	clear(l.threads)
	l.begin()
}

// kind says what happened to a thread.
type kind uint32

const (
	woken  kind = iota // was put among those that wait for a CPU
	in                 // got a CPU
	out                // lost it
	waking             // is to be put there, which may be for another CPU to do
)

// States of a thread that loses its CPU (include/linux/sched.h). Zero is ready
// to run.
const (
	uninterruptible = 0x02
	held            = 0x04 | 0x08 | 0x8000 // stopped, traced, frozen
	dead            = 0x80
)

// event is one event of the scheduler. The program in the kernel writes it in
// the machine's byte order: time, thread, state, kind.
type event struct {
	at    stall.Instant
	tid   int32
	state uint32 // of a thread that goes out
	kind  kind
}

const eventSize = 24

// decodeEvent reports false for what the program does not write.
func decodeEvent(b []byte) (event, bool) {
	if len(b) != eventSize {
		return event{}, false
	}
	ne := binary.NativeEndian
	e := event{
		at:    stall.Instant(ne.Uint64(b)),
		tid:   int32(ne.Uint32(b[8:])),
		state: ne.Uint32(b[12:]),
		kind:  kind(ne.Uint32(b[16:])),
	}
	return e, e.kind <= waking && e.at > 0 && e.tid > 0
}
