// Package window keeps the windows of work: which ones are open and have a slot, by
// which an execution trace names them, and which ones have ended and wait to be
// resolved.
package window

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
	// MaxWaiting bounds the windows that have ended and are not resolved. At
	// 20,000 requests a second it is three seconds' worth.
	MaxWaiting = 1 << 16
	maxBlocks  = MaxWaiting / BlockCells
	// spareBlocks is how many are kept for the next windows, one megabyte.
	spareBlocks = 64
)

// Queue is a queue of ended windows. Any goroutine adds to it, without a lock
// but once per block; one takes from it. Windows are in the order in which they
// reserved their cells, which is nearly that of their ends.
type Queue struct {
	tail    atomic.Pointer[Block] // where cells are reserved; nil before the first window
	full    atomic.Bool           // there is to be no other tail for now
	dropped atomic.Uint64
	Asks    bool // windows have a function to call, see Ended.Tell

	mu     sync.Mutex
	live   []*Block // the oldest first, the last is the tail
	taken  int      // cells of the oldest
	gone   uint64   // cells of the blocks before
	spare  []*Block
	closed bool
	last   int // cells of the tail that were reserved before it closed
}

// Reserve returns the place of a cell, to be filled and published at once: Take waits
// for it. If too many windows wait there is none, and the
// window is counted as dropped.
func (p *Queue) Reserve() (*Block, uint64) {
	if b := p.tail.Load(); b != nil {
		if i := b.reserved.Add(1) - 1; i < BlockCells {
			return b, i
		}
	}
	return p.reserveMore()
}

// reserveMore is Reserve where the block is full.
func (p *Queue) reserveMore() (*Block, uint64) {
	for !p.full.Load() && p.extend() {
		b := p.tail.Load()
		if i := b.reserved.Add(1) - 1; i < BlockCells {
			return b, i
		}
	}
	p.dropped.Add(1)
	return nil, 0
}

// extend makes room for more windows. It reports false if there may be none.
func (p *Queue) extend() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if tail := p.tail.Load(); tail != nil && tail.reserved.Load() < BlockCells {
		return true // another goroutine has
	}
	if p.closed || len(p.live) >= maxBlocks {
		p.full.Store(true)
		return false
	}
	var b *Block
	if n := len(p.spare); n > 0 {
		b, p.spare = p.spare[n-1], p.spare[:n-1]
	} else {
		b = newBlock(p.Asks)
	}
	p.live = append(p.live, b)
	b.open()
	p.tail.Store(b)
	return true
}

// Push keeps e, or counts it as dropped if too many wait.
func (p *Queue) Push(e Ended) bool {
	b, i := p.Reserve()
	if b == nil {
		return false
	}
	if b.asked != nil {
		b.asked[i] = asked{e.Receipt, e.Tell}
	}
	c := &b.cells[i]
	c.Fill(e.Start, e.Arrival, e.Held, e.Span.SpanIDs)
	return c.offer(e.End, Tag(e.Slot, e.Route, e.Span.Flags))
}

// takeAtOnce bounds what is copied under the lock: a window that needs a new block
// meanwhile waits for it.
const takeAtOnce = 128

// Take moves to dst the windows that ended at or before t, at most limit, up to
// the first that did not or that is being written.
func (p *Queue) Take(dst []Ended, t stall.Instant, limit int) []Ended {
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

func (p *Queue) takeSome(dst []Ended, t stall.Instant, limit int) []Ended {
	p.mu.Lock()
	defer p.mu.Unlock()
	for limit > 0 && len(p.live) > 0 {
		b := p.live[0]
		if p.taken == BlockCells {
			p.retire()
			continue
		}
		switch e, ok := b.read(p.taken); {
		case ok && e.End > t:
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
			p.dropped.Add(1) // was not written in time, see Close
		}
		p.taken++
	}
	return dst
}

// retire puts away the oldest block, which is empty.
func (p *Queue) retire() {
	if len(p.spare) < spareBlocks && !p.closed {
		p.spare = append(p.spare, p.live[0])
	}
	p.live = slices.Delete(p.live, 0, 1)
	p.taken, p.gone = 0, p.gone+BlockCells
	p.full.Store(p.closed)
}

// unreserved reports whether all cells that are reserved are taken.
func (p *Queue) unreserved() bool { return len(p.live) == 1 && p.taken >= p.inTail() }

// inTail returns how many cells of the tail are reserved.
func (p *Queue) inTail() int {
	if p.closed {
		return p.last
	}
	return int(min(p.tail.Load().reserved.Load(), BlockCells))
}

// Came returns how many windows were ever added, those that are being written
// included.
func (p *Queue) Came() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.gone
	if blocks := len(p.live); blocks > 0 {
		n += uint64((blocks-1)*BlockCells + p.inTail())
	}
	return n
}

// Went returns how many of them were ever taken.
func (p *Queue) Went() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gone + uint64(p.taken)
}

// Lost returns how many windows were dropped since the last call.
func (p *Queue) Lost() uint64 { return p.dropped.Swap(0) }

// publishWait is how long Close waits for windows that are being added, which takes some
// nanoseconds unless their goroutine loses its CPU.
const publishWait = 100 * time.Millisecond

// Close has the queue take nothing from now on.
func (p *Queue) Close() {
	p.mu.Lock()
	if tail := p.tail.Load(); tail != nil && !p.closed {
		p.last = int(min(tail.reserved.Add(BlockCells)-BlockCells, BlockCells))
	}
	p.closed, p.spare = true, nil
	p.mu.Unlock()
	for deadline := time.Now().Add(publishWait); p.writing() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// writing reports whether a window is being added.
func (p *Queue) writing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n, b := range p.live {
		from, to := 0, BlockCells
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

// Ended is a window that waits for the watermarks of the sources.
type Ended struct {
	Start, End, Arrival stall.Instant
	Receipt             stall.Instant
	Held                stall.Instant // since when it had the slot
	Slot                int16
	Route               Route
	Span                SpanName
	Asked               bool                              // its context was asked for the span
	Tell                func(*stall.Window, *stall.Share) // instead of counting it as a request
}

// Window returns the window as the join takes it.
func (e *Ended) Window(place *stall.Place) stall.Window {
	return stall.Window{Start: e.Start, End: e.End, Arrival: e.Arrival, Receipt: e.Receipt, Place: place}
}

// Route stands for the name of a route, so that the queue holds no memory of the
// program's, which a name may be a small part of. 0 is none.
type Route uint16

// BlockCells is how many windows a block holds, in 16 kB.
const BlockCells = 256

// Block is a piece of a queue. It has many lives: in each, every cell is written
// once and read once.
type Block struct {
	reserved atomic.Uint64 // cells that were handed out, and tries when there was none left
	cells    *[BlockCells]Cell
	asked    []asked // beside the cells, nil in a queue whose windows are all requests
	_        [24]byte
}

// asked is what a window has that is no request.
type asked struct {
	receipt stall.Instant
	tell    func(*stall.Window, *stall.Share)
}

// Cell is a window in one line of the cache, without a pointer: the collector
// passes the queue by. It begins at a multiple of its size.
type Cell struct {
	start, end, arrival, held stall.Instant
	span                      SpanIDs
	tag                       atomic.Uint64 // written last, see Tag; 0 before
}

// Where a tag has the slot (from bit 0), the route, the flags of the span, that the
// cell is written, and that it never was.
const (
	tagRoute   = 16
	tagFlags   = 32
	tagWritten = 1 << 40
	tagGivenUp = 1 << 41
)

// Asked is added to the tag of a request whose context was asked for its span.
const Asked = 1 << 42

// Tag returns what completes a cell.
func Tag(slot int16, route Route, flags trace.TraceFlags) uint64 {
	return uint64(uint16(slot)) | uint64(route)<<tagRoute | uint64(flags)<<tagFlags | tagWritten
}

// SpanName is what a window keeps of its span, never the span: that holds much.
// It is made of words, for the compiler keeps those in registers, and arrays in
// memory.
type SpanName struct {
	SpanIDs
	Flags trace.TraceFlags
}

// SpanIDs has the bytes of both identifiers, as they lie in memory.
type SpanIDs struct{ traceFirst, traceLast, span uint64 }

// Context returns the context of the span.
func (n *SpanName) Context() trace.SpanContext {
	c := trace.SpanContextConfig{TraceFlags: n.Flags}
	binary.NativeEndian.PutUint64(c.TraceID[:8], n.traceFirst)
	binary.NativeEndian.PutUint64(c.TraceID[8:], n.traceLast)
	binary.NativeEndian.PutUint64(c.SpanID[:], n.span)
	return trace.NewSpanContext(c)
}

func newBlock(asks bool) *Block {
	b := &Block{cells: new([BlockCells]Cell)}
	if asks {
		b.asked = make([]asked, BlockCells)
	}
	return b
}

// Cell returns a cell that was reserved.
func (b *Block) Cell(i uint64) *Cell { return &b.cells[i] }

// open prepares b for reuse. It touches each cell to prefetch its cache line: the cells
// were read on another CPU, as a rule, and each window would wait for its own line. A
// goroutine that has held on to b since it was full may reserve cells from here on.
func (b *Block) open() {
	for i := range b.cells {
		b.cells[i].tag = atomic.Uint64{} // a Store would wait for each
	}
	b.reserved.Store(0)
}

// NameOf asks the span for its name. That is the code of an SDK, which may wait or
// panic: call it without a cell or a slot in hand. No span has no name.
func NameOf(s trace.Span) SpanName {
	if s == nil {
		return SpanName{}
	}
	c := s.SpanContext()
	t, id := c.TraceID(), c.SpanID()
	return SpanName{SpanIDs{
		binary.NativeEndian.Uint64(t[:8]), binary.NativeEndian.Uint64(t[8:]), binary.NativeEndian.Uint64(id[:]),
	}, c.TraceFlags()}
}

// Fill writes what is known of a window before its end.
func (c *Cell) Fill(start, arrival, held stall.Instant, span SpanIDs) {
	c.start, c.arrival, c.held, c.span = start, arrival, held, span
}

// Publish completes a cell that was filled.
func (c *Cell) Publish(end stall.Instant, tag uint64) {
	c.end = end
	c.tag.Store(tag)
}

// offer is Publish, and reports whether the cell will be taken: not if it was given up
// before.
func (c *Cell) offer(end stall.Instant, tag uint64) bool {
	c.end = end
	return c.tag.CompareAndSwap(0, tag)
}

// giveUp closes a cell that was not written in time. It reports false if it is written.
func (c *Cell) giveUp() bool { return c.tag.CompareAndSwap(0, tagGivenUp) }

// read returns the window of a cell, or false if it is not written.
func (b *Block) read(i int) (Ended, bool) {
	c := &b.cells[i]
	tag := c.tag.Load()
	if tag == 0 {
		return Ended{}, false
	}
	e := Ended{
		Start: c.start, End: c.end, Arrival: c.arrival, Held: c.held,
		Slot: int16(tag), Route: Route(tag >> tagRoute), Span: SpanName{c.span, trace.TraceFlags(tag >> tagFlags)}, Asked: tag&Asked != 0,
	}
	if b.asked != nil {
		e.Receipt, e.Tell = b.asked[i].receipt, b.asked[i].tell
	}
	return e, true
}

// forget lets go of what a cell that was read points to.
func (b *Block) forget(i int) {
	if b.asked != nil {
		b.asked[i] = asked{}
	}
}
