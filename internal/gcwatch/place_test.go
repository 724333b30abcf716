package gcwatch

import (
	"runtime"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// TestPausesLieInTheirCycle encloses each forced cycle by two instants. What a
// pause claims for certain must lie between them, and what it calls possible
// must meet them; and no cycle may begin before a watermark that was told
// without it.
func TestPausesLieInTheirCycle(t *testing.T) {
	settle(t)
	clock := newClock(t)
	type told struct {
		c    gc.Collection
		mark stall.Instant // of the batch before
	}
	var list []told
	var unseen []stall.Span
	var mark stall.Instant
	stop := follow(t, start(t, Options{Clock: clock, Poll: time.Millisecond}), 0, func(b *source.Batch, _ *Observations) {
		for i := range b.Collections {
			list = append(list, told{b.Collections[i].Clone(), mark})
		}
		unseen = append(unseen, b.Unseen...)
		mark = b.Watermark
	})
	const cycles = 200
	var bounds [cycles]stall.Span
	for i := range bounds {
		bounds[i].Start = clock.Now()
		runtime.GC()
		bounds[i].End = clock.Now()
		if i%4 == 0 {
			time.Sleep(2 * time.Millisecond) // lets polls come between
		}
	}
	stop()
	if len(list) != cycles {
		t.Fatalf("collections: got %d, want %d", len(list), cycles)
	}
	phases := 0
	for i, got := range list {
		b := bounds[i]
		for _, p := range got.c.Pauses {
			if p.Phase == gc.MarkTermination {
				phases++
			}
			if s, e := p.Start.Add(p.Slack), p.End.Add(-p.Slack); s < e && (s < b.Start || e > b.End) {
				t.Errorf("cycle %d in %v: %+v is certain of too much", i, b, p)
			}
			if p.Start.Add(-p.Slack) > b.End || p.End.Add(p.Slack) < b.Start {
				t.Errorf("cycle %d in %v: %+v cannot be", i, b, p)
			}
		}
		if len(unseen) == 0 && got.mark > b.End {
			t.Errorf("cycle %d in %v: told after the watermark %d", i, b, got.mark)
		}
	}
	if phases == 0 {
		t.Error("no mark termination was told apart")
	}
}

func TestSuspensionsAreBounded(t *testing.T) {
	span := stall.Span{Start: 1000, End: 1_001_000}
	b := Bucket{Low: 10 * us, High: 12 * us, Middle: 11e-6, Count: maxSuspensions + 7}
	list, dropped := suspensions([]Bucket{b, {Middle: 5, Count: 2}}, span, nil)
	if len(list) != maxSuspensions || dropped != 9 {
		t.Errorf("got %d and %d dropped, want %d and 9", len(list), dropped, maxSuspensions)
	}
	list, dropped = suspensions([]Bucket{{Middle: 5, Count: 1}}, span, nil)
	if len(list) != 1 || dropped != 0 || list[0].Span() != span {
		t.Errorf("longer than its span: got %v, want %v", list, span)
	}
}
