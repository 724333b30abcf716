package otelgc

import (
	"encoding/binary"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

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
