package otelgc

import (
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
	turn     uint8         // lives, 1 at first
	cells    *[blockCells]cell
	asked    []asked // beside the cells, nil in a queue whose windows are all requests
	_        [16]byte
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
	span                      spanName
	route                     routeID
	tag                       atomic.Uint32 // slot, and the life of the block in which the cell was written
}

// spanName is what a window keeps of its span, never the span: that holds much.
type spanName struct {
	trace trace.TraceID
	span  trace.SpanID
	flags trace.TraceFlags
}

func (n *spanName) context() trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: n.trace, SpanID: n.span, TraceFlags: n.flags})
}

func newBlock(asks bool) *block {
	b := &block{cells: new([blockCells]cell)}
	if asks {
		b.asked = make([]asked, blockCells)
	}
	return b
}

// open begins a life. Who held on to the block since it was full in the one
// before may reserve from here on.
func (b *block) open() {
	b.turn++
	b.reserved.Store(0)
}

// askName asks the span for its name. It is somebody's code, which may wait or
// panic: nobody calls it who holds a cell or a slot.
func askName(s trace.Span) spanName {
	x := s.SpanContext()
	return spanName{x.TraceID(), x.SpanID(), x.TraceFlags()}
}

// publish completes a cell of which all else is written.
func (c *cell) publish(end stall.Instant, slot int16, turn uint8) {
	c.end = end
	c.tag.Store(uint32(uint16(slot)) | uint32(turn)<<16)
}

// read returns the window of a cell, or false if it is not written.
func (b *block) read(i int) (ended, bool) {
	c := &b.cells[i]
	tag := c.tag.Load()
	if uint8(tag>>16) != b.turn {
		return ended{}, false
	}
	e := ended{
		start: c.start, end: c.end, arrival: c.arrival, held: c.held,
		slot: int16(tag), route: c.route, span: c.span,
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
