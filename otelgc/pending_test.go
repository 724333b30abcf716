package otelgc

import (
	"math"
	"runtime"
	"sync"
	"testing"
	"unsafe"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

// TestQueueOfMany: windows that many goroutines end at once, while one takes
// them, come out whole, each goroutine's in order, and those that do not are
// counted.
func TestQueueOfMany(t *testing.T) {
	const writers, each = 8, 30_000
	var p pending
	var wg sync.WaitGroup
	for g := range uint64(writers) {
		wg.Go(func() {
			for i := range uint64(each) {
				p.push(ended{
					start: stall.Instant(i), end: stall.Instant(i + 1), arrival: stall.Instant(g), held: stall.Instant(i ^ g),
					slot: int16(i % slotCount), span: nameOf(g, i), route: routeID(i),
				})
				if i%1024 == 0 {
					runtime.Gosched()
				}
			}
		})
	}
	over := make(chan struct{})
	go func() { wg.Wait(); close(over) }()
	var next [writers]uint64
	taken, batch := uint64(0), []ended(nil)
	take := func() {
		batch = p.take(batch[:0], math.MaxInt64, 1000)
		for i := range batch {
			e := &batch[i]
			g, n := uint64(e.span.flags), e.span.span
			want := ended{
				start: stall.Instant(n), end: stall.Instant(n + 1), arrival: stall.Instant(g), held: stall.Instant(n ^ g),
				slot: int16(n % slotCount), span: nameOf(g, n), route: routeID(n),
			}
			if e.tell != nil || e.start != want.start || e.end != want.end || e.arrival != want.arrival || e.held != want.held ||
				e.slot != want.slot || e.span != want.span || e.route != want.route {
				t.Fatalf("got %+v, want %+v", *e, want)
			}
			if n < next[g] {
				t.Fatalf("window %d of goroutine %d came after %d", n, g, next[g])
			}
			next[g] = n + 1
		}
		taken += uint64(len(batch))
	}
	for running := true; running; {
		select {
		case <-over:
			running = false
		default:
			take()
		}
	}
	for take(); len(batch) > 0; take() {
	}
	if lost := p.lost(); taken+lost != writers*each {
		t.Errorf("%d taken and %d lost, want %d in all", taken, lost, writers*each)
	}
	if came, went := p.came(), p.went(); came != taken || went != taken {
		t.Errorf("%d came and %d went, want %d", came, went, taken)
	}
}

// nameOf is the span of window i of a goroutine.
func nameOf(goroutine, i uint64) spanName {
	return spanName{spanIDs{traceLast: i ^ goroutine, span: i}, trace.TraceFlags(goroutine)}
}

// TestWindowBeingWritten: who has lost the CPU while it ended a window holds up
// those behind it, and no one waits for it when the queue is closed.
func TestWindowBeingWritten(t *testing.T) {
	for name, written := range map[string]bool{"in time": true, "never": false} {
		t.Run(name, func(t *testing.T) {
			var p pending
			b, i := p.reserve()
			p.push(ended{end: 2})
			if got := p.take(nil, 10, 10); len(got) != 0 {
				t.Errorf("took %v, past one that is being written", got)
			}
			if n := p.came() - p.went(); n != 2 {
				t.Errorf("%d windows are there, want 2", n)
			}
			want := 1
			if written {
				b.cells[i].publish(1, tagOf(noSlot, noRoute, 0, b.turn))
				want = 2
			}
			p.close()
			if got := p.take(nil, 10, 10); len(got) != want || got[want-1].end != 2 {
				t.Errorf("took %v, want %d windows", got, want)
			}
			if n := p.lost(); n != uint64(2-want) {
				t.Errorf("%d windows were lost, want %d", n, 2-want)
			}
			if p.push(ended{end: 3}) || p.lost() != 1 {
				t.Error("a window after the end was not counted as lost")
			}
			if got := p.take(nil, 10, 10); len(got) != 0 {
				t.Errorf("took %v after the end", got)
			}
		})
	}
}

// TestBlocksAreUsedAgain: memory of windows that are taken is that of the next,
// and after a flood most of it is given back.
func TestBlocksAreUsedAgain(t *testing.T) {
	var p pending
	blocks := map[*block]bool{}
	for range 1000 { // more lives than a turn has values
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
