package otelgc

import (
	"sync"

	"github.com/otelgc/otelgc/stall"
)

// maxPending bounds the windows that have ended and are not resolved. At 20,000
// requests a second it is three seconds' worth.
const maxPending = 1 << 16

// ended is a window that waits for the watermarks of the sources.
type ended struct {
	start, end, arrival stall.Instant
	receipt             stall.Instant
	held                stall.Instant // since when it had the slot
	slot                int16
	about               about
	tell                func(*stall.Window, *stall.Share) // instead of counting it as a request
}

// pending is a queue of ended windows, by their ends but for the race between
// two that end at the same time.
type pending struct {
	mu      sync.Mutex
	ring    []ended
	head, n int
	dropped uint64
	closed  bool
}

// push keeps w, or counts it as dropped if too many wait.
func (p *pending) push(w ended) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.next()
	if e != nil {
		*e = w
	}
	return e != nil
}

// end is push for those on the path of a request: the window is written where it
// is kept, and the lock not held for more.
func (p *pending) end(w *window, end, held stall.Instant) {
	p.mu.Lock()
	if e := p.next(); e != nil {
		e.start, e.end, e.arrival, e.held, e.slot = w.start, end, w.arrival, held, w.slot
		e.about = w.about
	}
	p.mu.Unlock()
}

// next returns where to keep one more window, which is empty, or counts one as
// dropped if too many wait.
func (p *pending) next() *ended {
	if p.closed || p.n == len(p.ring) && !p.grow() {
		p.dropped++
		return nil
	}
	e := &p.ring[(p.head+p.n)&(len(p.ring)-1)]
	p.n++
	return e
}

// close has push take nothing from now on: nobody would resolve it.
func (p *pending) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
}

// grow doubles the ring. Rings stay powers of two.
func (p *pending) grow() bool {
	if len(p.ring) >= maxPending {
		return false
	}
	bigger := make([]ended, max(1024, 2*len(p.ring)))
	for i := range p.n {
		bigger[i] = p.ring[(p.head+i)&(len(p.ring)-1)]
	}
	p.ring, p.head = bigger, 0
	return true
}

// takeAtOnce bounds what is copied under the lock: requests that end meanwhile
// wait for it.
const takeAtOnce = 128

// take moves to dst the windows that ended at or before t, at most limit.
func (p *pending) take(dst []ended, t stall.Instant, limit int) []ended {
	for limit > 0 {
		n := len(dst)
		dst = p.takeSome(dst, t, min(limit, takeAtOnce))
		taken := len(dst) - n
		if taken < takeAtOnce {
			break
		}
		limit -= taken
	}
	return dst
}

func (p *pending) takeSome(dst []ended, t stall.Instant, limit int) []ended {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.n > 0 && limit > 0 && p.ring[p.head].end <= t {
		dst = append(dst, p.ring[p.head])
		p.ring[p.head] = ended{} // what it points to is not kept
		p.head = (p.head + 1) & (len(p.ring) - 1)
		p.n--
		limit--
	}
	return dst
}

// oldest returns the end of the window that has waited longest.
func (p *pending) oldest() (stall.Instant, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.n == 0 {
		return 0, false
	}
	return p.ring[p.head].end, true
}

// lost returns how many windows were dropped since the last call.
func (p *pending) lost() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.dropped
	p.dropped = 0
	return n
}
