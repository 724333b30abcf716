package window

import (
	"testing"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

// TestBlocksAreUsedAgain: memory of windows that are taken is that of the next,
// and after a flood most of it is given back.
func TestBlocksAreUsedAgain(t *testing.T) {
	var p Queue
	blocks := map[*Block]bool{}
	for range 1000 {
		for range BlockCells {
			p.Push(Ended{End: 1})
			blocks[p.tail.Load()] = true
		}
		if n := len(p.Take(nil, 1, 2*BlockCells)); n != BlockCells {
			t.Fatalf("took %d windows, want %d", n, BlockCells)
		}
	}
	if len(blocks) > 2 {
		t.Errorf("%d blocks for windows that fit in one", len(blocks))
	}
	for range MaxWaiting + 1 {
		p.Push(Ended{End: 1})
	}
	p.Take(nil, 1, MaxWaiting)
	if n := len(p.live) + len(p.spare); n > spareBlocks+1 {
		t.Errorf("%d blocks are kept after a flood, want at most %d", n, spareBlocks+1)
	}
}

// TestTellersAreLetGo: a queue keeps nobody alive who has been told.
func TestTellersAreLetGo(t *testing.T) {
	p := Queue{Asks: true}
	told := false
	p.Push(Ended{End: 1, Receipt: 7, Tell: func(*stall.Window, *stall.Share) { told = true }})
	got := p.Take(nil, 1, 1)
	if len(got) != 1 || got[0].Receipt != 7 || got[0].Tell == nil {
		t.Fatalf("got %v, want the window with its receipt and who is to be told", got)
	}
	if got[0].Tell(nil, nil); !told {
		t.Error("somebody else was told")
	}
	if a := p.live[0].asked[0]; a.tell != nil {
		t.Error("the queue still knows who was told")
	}
}

// TestCellIsALineOfTheCache, and lies in one: who ends a window fetches no other.
func TestCellIsALineOfTheCache(t *testing.T) {
	const line = 64
	if size := unsafe.Sizeof(Cell{}); size != line {
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
	var p Queue
	p.Push(Ended{End: 1, Span: NameOf(trace.SpanFromContext(trace.ContextWithSpanContext(t.Context(), want)))})
	got := p.Take(nil, 1, 1)
	if c := got[0].Span.Context(); !c.Equal(want) {
		t.Errorf("got %v, want %v", c, want)
	}
}
