package otelgc

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/otelgc/otelgc/stall"
)

const (
	// maxPending bounds the windows that have ended and are not resolved. At
	// 20,000 requests a second it is three seconds' worth.
	maxPending = 1 << 16
	maxBlocks  = maxPending / blockCells
	// spareBlocks is how many are kept for the next windows, one megabyte.
	spareBlocks = 64
)

// pending is a queue of ended windows. Any goroutine adds to it, without a lock
// but once per block; one takes from it. Windows are in the order in which they
// reserved their cells, which is that of their ends but for those that end while
// another does.
type pending struct {
	tail    atomic.Pointer[block] // where cells are reserved; nil before the first window
	full    atomic.Bool           // there is to be no other tail for now
	dropped atomic.Uint64
	asks    bool // windows have somebody to be told

	mu     sync.Mutex
	live   []*block // the oldest first, the last is the tail
	taken  int      // cells of the oldest
	gone   uint64   // cells of the blocks before
	spare  []*block
	closed bool
	last   int // cells of the tail that were reserved before it closed
}

// reserve returns a cell of the queue's own, to be written and published at
// once: who takes waits for it. If too many windows wait there is none, and the
// window is counted as dropped.
func (p *pending) reserve() (*block, uint64) {
	if b := p.tail.Load(); b != nil {
		if i := b.reserved.Add(1) - 1; i < blockCells {
			return b, i
		}
	}
	return p.reserveMore()
}

// reserveMore is reserve where the block is full.
func (p *pending) reserveMore() (*block, uint64) {
	for !p.full.Load() && p.extend() {
		b := p.tail.Load()
		if i := b.reserved.Add(1) - 1; i < blockCells {
			return b, i
		}
	}
	p.dropped.Add(1)
	return nil, 0
}

// extend makes room for more windows. It reports false if there may be none.
func (p *pending) extend() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if tail := p.tail.Load(); tail != nil && tail.reserved.Load() < blockCells {
		return true // somebody else has
	}
	if p.closed || len(p.live) >= maxBlocks {
		p.full.Store(true)
		return false
	}
	var b *block
	if n := len(p.spare); n > 0 {
		b, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		b = newBlock(p.asks)
	}
	p.live = append(p.live, b)
	b.open()
	p.tail.Store(b)
	return true
}

// push keeps e, or counts it as dropped if too many wait.
func (p *pending) push(e ended) bool {
	b, i := p.reserve()
	if b == nil {
		return false
	}
	if b.asked != nil {
		b.asked[i] = asked{e.receipt, e.tell}
	}
	c := &b.cells[i]
	c.fill(e.start, e.arrival, e.held, e.span.spanIDs)
	return c.offer(e.end, tagOf(e.slot, e.route, e.span.flags))
}

// takeAtOnce bounds what is copied under the lock: who needs a new block
// meanwhile waits for it.
const takeAtOnce = 128

// take moves to dst the windows that ended at or before t, at most limit, up to
// the first that did not or that is being written.
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
	for limit > 0 && len(p.live) > 0 {
		b := p.live[0]
		if p.taken == blockCells {
			p.retire()
			continue
		}
		switch e, ok := b.read(p.taken); {
		case ok && e.end > t:
			return dst
		case ok:
			dst = append(dst, e)
			b.forget(p.taken)
			limit--
		case !p.closed || p.unreserved():
			return dst
		case !b.cells[p.taken].giveUp():
			continue // it has been written by now
		default:
			p.dropped.Add(1) // was not written in time, see close
		}
		p.taken++
	}
	return dst
}

// retire puts away the oldest block, which is empty.
func (p *pending) retire() {
	if len(p.spare) < spareBlocks && !p.closed {
		p.spare = append(p.spare, p.live[0])
	}
	p.live = slices.Delete(p.live, 0, 1)
	p.taken, p.gone = 0, p.gone+blockCells
	p.full.Store(p.closed)
}

// unreserved reports whether all cells that are reserved are taken.
func (p *pending) unreserved() bool { return len(p.live) == 1 && p.taken >= p.inTail() }

// inTail returns how many cells of the tail are reserved.
func (p *pending) inTail() int {
	if p.closed {
		return p.last
	}
	return int(min(p.tail.Load().reserved.Load(), blockCells))
}

// came returns how many windows were ever added, those that are being written
// included.
func (p *pending) came() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.gone
	if blocks := len(p.live); blocks > 0 {
		n += uint64((blocks-1)*blockCells + p.inTail())
	}
	return n
}

// went returns how many of them were ever taken.
func (p *pending) went() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone + uint64(p.taken)
}

// lost returns how many windows were dropped since the last call.
func (p *pending) lost() uint64 { return p.dropped.Swap(0) }
