package otelgc

import (
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/stall"
	"go.opentelemetry.io/otel/trace"
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

// publishWait is how long close waits for those who are adding a window just
// then, which takes some nanoseconds unless they lose their CPU.
const publishWait = 100 * time.Millisecond

// close has the queue take nothing from now on: nobody would resolve it.
func (p *pending) close() {
	p.mu.Lock()
	if tail := p.tail.Load(); tail != nil && !p.closed {
		p.last = int(min(tail.reserved.Add(blockCells)-blockCells, blockCells))
	}
	p.closed, p.spare = true, nil
	p.mu.Unlock()
	for deadline := time.Now().Add(publishWait); p.writing() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// writing reports whether a window is being added.
func (p *pending) writing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, b := range p.live {
		from, to := 0, blockCells
		if n == 0 {
			from = p.taken
		}
		if n == len(p.live)-1 {
			to = p.inTail()
		}
		for i := from; i < to; i++ {
			if _, ok := b.read(i); !ok {
				return true
			}
		}
	}
	return false
}

// ended is a window that waits for the watermarks of the sources.
type ended struct {
	start, end, arrival stall.Instant
	receipt             stall.Instant
	held                stall.Instant // since when it had the slot
	slot                int16
	route               routeID
	span                spanName
	tell                func(*stall.Window, *stall.Share) // instead of counting it as a request
}

// blockCells is how many windows a block holds, in 16 kB.
const blockCells = 256

// block is a piece of a queue. It has many lives: in each, every cell is written
// once and read once.
type block struct {
	reserved atomic.Uint64 // cells that were handed out, and tries when there was none left
	cells    *[blockCells]cell
	asked    []asked // beside the cells, nil in a queue whose windows are all requests
	_        [24]byte
}

// asked is what only windows of others than requests have.
type asked struct {
	receipt stall.Instant
	tell    func(*stall.Window, *stall.Share)
}

// cell is a window in one line of the cache, without a pointer: the collector
// passes the queue by. It begins at a multiple of its size.
type cell struct {
	start, end, arrival, held stall.Instant
	span                      spanIDs
	tag                       atomic.Uint64 // written last, see tagOf; 0 before
}

// Where a tag has the slot (from bit 0), the route, the flags of the span, that the
// cell is written, and that it never was.
const (
	tagRoute   = 16
	tagFlags   = 32
	tagWritten = 1 << 40
	tagGivenUp = 1 << 41
)

func tagOf(slot int16, route routeID, flags trace.TraceFlags) uint64 {
	return uint64(uint16(slot)) | uint64(route)<<tagRoute | uint64(flags)<<tagFlags | tagWritten
}

// spanName is what a window keeps of its span, never the span: that holds much.
// It is made of words, for the compiler keeps those in registers, and arrays in
// memory.
type spanName struct {
	spanIDs
	flags trace.TraceFlags
}

// spanIDs has the bytes of both identifiers, as they lie in memory.
type spanIDs struct{ traceFirst, traceLast, span uint64 }

func (n *spanName) context() trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: n.flags}
	binary.NativeEndian.PutUint64(c.TraceID[:8], n.traceFirst)
	binary.NativeEndian.PutUint64(c.TraceID[8:], n.traceLast)
	binary.NativeEndian.PutUint64(c.SpanID[:], n.span)
	return trace.NewSpanContext(c)
}

func newBlock(asks bool) *block {
	b := &block{cells: new([blockCells]cell)}
	if asks {
		b.asked = make([]asked, blockCells)
	}
	return b
}

// open begins a life. Who read the cells in the one before did so on another CPU, as
// a rule. To write to each of them here has their lines come from there many at a
// time, where each window would wait for its own. Who held on to the block since it
// was full may reserve from here on.
func (b *block) open() {
	for i := range b.cells {
		b.cells[i].tag = atomic.Uint64{} // a Store would wait for each
	}
	b.reserved.Store(0)
}

// askName asks the span for its name. It is somebody's code, which may wait or
// panic: nobody calls it who holds a cell or a slot.
func askName(s trace.Span) spanName {
	c := s.SpanContext()
	t, id := c.TraceID(), c.SpanID()
	return spanName{spanIDs{
		binary.NativeEndian.Uint64(t[:8]), binary.NativeEndian.Uint64(t[8:]), binary.NativeEndian.Uint64(id[:]),
	}, c.TraceFlags()}
}

// fill writes what is known of a window before its end.
func (c *cell) fill(start, arrival, held stall.Instant, span spanIDs) {
	c.start, c.arrival, c.held, c.span = start, arrival, held, span
}

// publish completes a cell that was filled.
func (c *cell) publish(end stall.Instant, tag uint64) {
	c.end = end
	c.tag.Store(tag)
}

// offer is publish for who wants to know whether somebody will take it: not if it
// was given up before.
func (c *cell) offer(end stall.Instant, tag uint64) bool {
	c.end = end
	return c.tag.CompareAndSwap(0, tag)
}

// giveUp has nobody wait for a cell any more. It reports false if it is written.
func (c *cell) giveUp() bool { return c.tag.CompareAndSwap(0, tagGivenUp) }

// read returns the window of a cell, or false if it is not written.
func (b *block) read(i int) (ended, bool) {
	c := &b.cells[i]
	tag := c.tag.Load()
	if tag == 0 {
		return ended{}, false
	}
	e := ended{
		start: c.start, end: c.end, arrival: c.arrival, held: c.held,
		slot: int16(tag), route: routeID(tag >> tagRoute), span: spanName{c.span, trace.TraceFlags(tag >> tagFlags)},
	}
	if b.asked != nil {
		e.receipt, e.tell = b.asked[i].receipt, b.asked[i].tell
	}
	return e, true
}

// forget lets go of what a cell that was read points to.
func (b *block) forget(i int) {
	if b.asked != nil {
		b.asked[i] = asked{}
	}
}
