package e2e

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// What happens in a span of stepped.
const (
	spanOfStep  = 40e6 // ns
	pauseOfStep = 7e6
)

// TestStep: the wall clock of a machine is set an hour ahead, and back. What the
// machine sends after that is what any does after date -s: spans by the new wall
// time, and statuses with the new offset. Before and after, each span is charged
// with its own pause; of one about a step it is charged, or coverage and what is
// uncertain tell.
func TestStep(t *testing.T) {
	t.Parallel()
	n := newTiers(t, long)
	w := &stepped{n, &machine{"22222222-0000-4000-8000-000000000000", time.Now().Add(-time.Hour).UnixNano()}, 0}
	w.tell(t, w.status(w.wall(0, 1e9)))
	for second, set := range []time.Duration{1: 0, 2: 0, 3: time.Hour, 4: 0, 5: 0, 6: -time.Hour, 7: 0, 8: 0} {
		if second == 0 {
			continue
		}
		service := w.second(t, int64(second), set)
		got := w.come(t, service)
		right, told := 0, 0
		for id, d := range got {
			switch pause := d.shares["otelgc.stall.gc.pause"]; {
			case math.Abs(pause-time.Duration(pauseOfStep).Seconds()) <= within && d.shares["otelgc.stall.coverage"] == 1:
				right++
			case pause < time.Duration(pauseOfStep).Seconds() && (d.shares["otelgc.stall.coverage"] < 1 || d.shares["otelgc.stall.uncertain"] > 0):
				told++
			default:
				t.Errorf("second %d, span %s: %v", second, id, d.shares)
			}
			if d.times != 1 {
				t.Errorf("second %d: span %s came %d times", second, id, d.times)
			}
		}
		t.Logf("second %d, set by %v: %d spans charged, of %d coverage tells", second, set, right, told)
		if set == 0 && told > 0 {
			t.Errorf("second %d: %d spans are not charged, and the clock stood still", second, told)
		}
	}
	n.stop(t)
}

// stepped is a machine whose wall clock is set. Its own time goes as fast as it is
// told.
type stepped struct {
	*tiers
	*machine
	collections int
}

// wall returns a stretch of the machine's own time as its wall clock shows it.
func (w *stepped) wall(start, end int64) wallSpan { return wallSpan{start + w.offset, end + w.offset} }

// second tells of all that happens in one second, and at last its status: spans,
// each with a pause in it. In its midst the clock is set, and one span is across:
// the SDK times its start by the clock, and its end by what has passed since.
func (w *stepped) second(t *testing.T, n int64, set time.Duration) (service string) {
	t.Helper()
	var spans []wallSpan
	for _, at := range []int64{20e6, 120e6, 220e6, 320e6, 420e6, 480e6, 520e6, 620e6, 720e6, 820e6, 920e6} {
		if at == 520e6 {
			w.offset += int64(set)
		}
		at += n * 1e9
		spans = append(spans, w.wall(at, at+spanOfStep))
		w.collections++
		w.tell(t, w.collection(w.collections, w.wall(at+10e6, at+10e6+pauseOfStep)))
	}
	service = fmt.Sprintf("e2e-step-%d", n)
	w.sendOf(t, service, w.identity(), spans)
	w.tell(t, w.status(w.wall(n*1e9, (n+1)*1e9)))
	return service
}

// come waits for all spans of a second.
func (w *stepped) come(t *testing.T, service string) (got map[string]delivered) {
	t.Helper()
	eventually(t, "all spans of "+service, func() error {
		if got = w.of(service); len(got) < 11 {
			return fmt.Errorf("%d of 11", len(got))
		}
		return nil
	}, w.running[:]...)
	return got
}
