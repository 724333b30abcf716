package otelgc

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
				b.cells[i].publish(1, tagOf(noSlot, noRoute, 0))
				want = 2
			}
			p.close()
			if got := p.take(nil, 10, 10); len(got) != want || got[want-1].end != 2 {
				t.Errorf("took %v, want %d windows", got, want)
			}
			if !written && b.cells[i].offer(1, tagOf(noSlot, noRoute, 0)) {
				t.Error("a window that was given up counts as taken")
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

func TestPendingGivesBackInOrder(t *testing.T) {
	var p pending
	var want, got []stall.Instant
	next := stall.Instant(1)
	for round := range 50 {
		for range 300 * (round%7 + 1) {
			p.push(ended{end: next})
			next++
		}
		for _, w := range p.take(nil, next-stall.Instant(round*3), 500+round*10) {
			got = append(got, w.end)
		}
	}
	for batch := p.take(nil, math.MaxInt64, 100); len(batch) > 0; batch = p.take(nil, math.MaxInt64, 100) {
		for _, w := range batch {
			got = append(got, w.end)
		}
	}
	if p.lost() != 0 {
		t.Fatal("dropped though there was room")
	}
	for i := stall.Instant(1); i < next; i++ {
		want = append(want, i)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("windows (-want +got):\n%.500s", diff)
	}
	if came, went := p.came(), p.went(); came != uint64(next-1) || went != came {
		t.Errorf("%d windows came and %d went, want %d", came, went, next-1)
	}
}

func TestPendingIsBounded(t *testing.T) {
	var p pending
	const over = 100
	for i := range maxPending + over {
		p.push(ended{end: stall.Instant(i)})
	}
	if got := p.lost(); got != over {
		t.Errorf("dropped %d windows, want %d", got, over)
	}
	if got := p.lost(); got != 0 {
		t.Errorf("counted %d drops twice", got)
	}
	if got := len(p.take(nil, math.MaxInt64, 2*maxPending)); got != maxPending {
		t.Errorf("kept %d windows, want %d", got, maxPending)
	}
	if n := p.came() - p.went(); n != 0 {
		t.Errorf("still holds %d", n)
	}
	if !p.push(ended{end: 1}) {
		t.Error("took no window though there is room again")
	}
}

func TestPendingTakesWhatIsDue(t *testing.T) {
	var p pending
	for _, end := range []stall.Instant{10, 20, 30} {
		p.push(ended{end: end})
	}
	if got := len(p.take(nil, 20, 10)); got != 2 {
		t.Errorf("took %d windows that ended by 20, want 2", got)
	}
	if n := p.came() - p.went(); n != 1 {
		t.Errorf("still holds %d, want 1", n)
	}
}
