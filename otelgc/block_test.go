package otelgc

import (
	"testing"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

// TestBlocksAreUsedAgain: memory of windows that are taken is that of the next,
// and after a flood most of it is given back.
func TestBlocksAreUsedAgain(t *testing.T) {
	var p pending
	blocks := map[*block]bool{}
	for range 1000 {
		for range blockCells {
			p.push(ended{end: 1})
			blocks[p.tail.Load()] = true
		}
		if n := len(p.take(nil, 1, 2*blockCells)); n != blockCells {
			t.Fatalf("took %d windows, want %d", n, blockCells)
		}
	}
	if len(blocks) > 2 {
		t.Errorf("%d blocks for windows that fit in one", len(blocks))
	}
	for range maxPending + 1 {
		p.push(ended{end: 1})
	}
	p.take(nil, 1, maxPending)
	if n := len(p.live) + len(p.spare); n > spareBlocks+1 {
		t.Errorf("%d blocks are kept after a flood, want at most %d", n, spareBlocks+1)
	}
}

// TestTellersAreLetGo: a queue keeps nobody alive who has been told.
func TestTellersAreLetGo(t *testing.T) {
	p := pending{asks: true}
	told := false
	p.push(ended{end: 1, receipt: 7, tell: func(*stall.Window, *stall.Share) { told = true }})
	got := p.take(nil, 1, 1)
	if len(got) != 1 || got[0].receipt != 7 || got[0].tell == nil {
		t.Fatalf("got %v, want the window with its receipt and who is to be told", got)
	}
	if got[0].tell(nil, nil); !told {
		t.Error("somebody else was told")
	}
	if a := p.live[0].asked[0]; a.tell != nil {
		t.Error("the queue still knows who was told")
	}
}

// TestCellIsALineOfTheCache, and lies in one: who ends a window fetches no other.
func TestCellIsALineOfTheCache(t *testing.T) {
	const line = 64
	if size := unsafe.Sizeof(cell{}); size != line {
		t.Errorf("a cell has %d bytes, want %d", size, line)
	}
	if b := newBlock(true); uintptr(unsafe.Pointer(b.cells))%line != 0 || uintptr(unsafe.Pointer(b))%line != 0 {
		t.Errorf("cells at %p of block at %p, want multiples of %d", b.cells, b, line)
	}
}

// TestSpanName: what a window keeps of a span names it.
func TestSpanName(t *testing.T) {
	want := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, SpanID: trace.SpanID{17, 18, 19, 20, 21, 22, 23, 24}, TraceFlags: trace.FlagsSampled | trace.FlagsRandom,
	})
	var p pending
	p.push(ended{end: 1, span: askName(trace.SpanFromContext(trace.ContextWithSpanContext(t.Context(), want)))})
	got := p.take(nil, 1, 1)
	if c := got[0].span.context(); !c.Equal(want) {
		t.Errorf("got %v, want %v", c, want)
	}
}
