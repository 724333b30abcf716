package window

import (
	"math"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

// TestQueueOfMany: windows that many goroutines end at once, while one takes
// them, come out whole, each goroutine's in order, and those that do not are
// counted.
func TestQueueOfMany(t *testing.T) {
	const writers, each = 8, 30_000
	var p Queue
	var wg sync.WaitGroup
	for g := range uint64(writers) {
		wg.Go(func() {
			for i := range uint64(each) {
				p.Push(Ended{
					Start: stall.Instant(i), End: stall.Instant(i + 1), Arrival: stall.Instant(g), Held: stall.Instant(i ^ g),
					Slot: int16(i % SlotCount), Span: nameOf(g, i), Route: Route(i),
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
	taken, batch := uint64(0), []Ended(nil)
	take := func() {
		batch = p.Take(batch[:0], math.MaxInt64, 1000)
		for i := range batch {
			e := &batch[i]
			g, n := uint64(e.Span.Flags), e.Span.span
			want := Ended{
				Start: stall.Instant(n), End: stall.Instant(n + 1), Arrival: stall.Instant(g), Held: stall.Instant(n ^ g),
				Slot: int16(n % SlotCount), Span: nameOf(g, n), Route: Route(n),
			}
			if e.Tell != nil || e.Start != want.Start || e.End != want.End || e.Arrival != want.Arrival || e.Held != want.Held ||
				e.Slot != want.Slot || e.Span != want.Span || e.Route != want.Route {
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
	if lost := p.Lost(); taken+lost != writers*each {
		t.Errorf("%d taken and %d lost, want %d in all", taken, lost, writers*each)
	}
	if came, went := p.Came(), p.Went(); came != taken || went != taken {
		t.Errorf("%d came and %d went, want %d", came, went, taken)
	}
}

// nameOf is the span of window i of a goroutine.
func nameOf(goroutine, i uint64) SpanName {
	return SpanName{SpanIDs{traceLast: i ^ goroutine, span: i}, trace.TraceFlags(goroutine)}
}

// TestWindowBeingWritten: who has lost the CPU while it ended a window holds up
// those behind it, and no one waits for it when the queue is closed.
func TestWindowBeingWritten(t *testing.T) {
	for name, written := range map[string]bool{"in time": true, "never": false} {
		t.Run(name, func(t *testing.T) {
			var p Queue
			b, i := p.Reserve()
			p.Push(Ended{End: 2})
			if got := p.Take(nil, 10, 10); len(got) != 0 {
				t.Errorf("took %v, past one that is being written", got)
			}
			if n := p.Came() - p.Went(); n != 2 {
				t.Errorf("%d windows are there, want 2", n)
			}
			want := 1
			if written {
				b.cells[i].Publish(1, Tag(NoSlot, 0, 0))
				want = 2
			}
			p.Close()
			if got := p.Take(nil, 10, 10); len(got) != want || got[want-1].End != 2 {
				t.Errorf("took %v, want %d windows", got, want)
			}
			if !written && b.cells[i].offer(1, Tag(NoSlot, 0, 0)) {
				t.Error("a window that was given up counts as taken")
			}
			if n := p.Lost(); n != uint64(2-want) {
				t.Errorf("%d windows were lost, want %d", n, 2-want)
			}
			if p.Push(Ended{End: 3}) || p.Lost() != 1 {
				t.Error("a window after the end was not counted as lost")
			}
			if got := p.Take(nil, 10, 10); len(got) != 0 {
				t.Errorf("took %v after the end", got)
			}
		})
	}
}

func TestPendingGivesBackInOrder(t *testing.T) {
	var p Queue
	var want, got []stall.Instant
	next := stall.Instant(1)
	for round := range 50 {
		for range 300 * (round%7 + 1) {
			p.Push(Ended{End: next})
			next++
		}
		for _, w := range p.Take(nil, next-stall.Instant(round*3), 500+round*10) {
			got = append(got, w.End)
		}
	}
	for batch := p.Take(nil, math.MaxInt64, 100); len(batch) > 0; batch = p.Take(nil, math.MaxInt64, 100) {
		for _, w := range batch {
			got = append(got, w.End)
		}
	}
	if p.Lost() != 0 {
		t.Fatal("dropped though there was room")
	}
	for i := stall.Instant(1); i < next; i++ {
		want = append(want, i)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got):\n%.500s", diff)
	}
	if came, went := p.Came(), p.Went(); came != uint64(next-1) || went != came {
		t.Errorf("%d windows came and %d went, want %d", came, went, next-1)
	}
}

func TestPendingIsBounded(t *testing.T) {
	var p Queue
	const over = 100
	for i := range MaxWaiting + over {
		p.Push(Ended{End: stall.Instant(i)})
	}
	if got := p.Lost(); got != over {
		t.Errorf("dropped %d windows, want %d", got, over)
	}
	if got := p.Lost(); got != 0 {
		t.Errorf("counted %d drops twice", got)
	}
	if got := len(p.Take(nil, math.MaxInt64, 2*MaxWaiting)); got != MaxWaiting {
		t.Errorf("kept %d windows, want %d", got, MaxWaiting)
	}
	if n := p.Came() - p.Went(); n != 0 {
		t.Errorf("still holds %d", n)
	}
	if !p.Push(Ended{End: 1}) {
		t.Error("took no window though there is room again")
	}
}

func TestPendingTakesWhatIsDue(t *testing.T) {
	var p Queue
	for _, end := range []stall.Instant{10, 20, 30} {
		p.Push(Ended{End: end})
	}
	if got := len(p.Take(nil, 20, 10)); got != 2 {
		t.Errorf("took %d windows that ended by 20, want 2", got)
	}
	if n := p.Came() - p.Went(); n != 1 {
		t.Errorf("still holds %d, want 1", n)
	}
}
