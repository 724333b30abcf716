package gcwatch

import (
	"runtime"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall/source"
)

// TestStormWithSlowReader lets cycles pile up behind a reader that is slow: none
// may be lost, and the watermark must follow.
func TestStormWithSlowReader(t *testing.T) {
	runtime.GC()
	var j journal
	several := 0
	stop := follow(t, start(t, Options{Clock: newClock(t)}), 3*time.Millisecond, func(b *source.Batch, o *Observations) {
		if o.Cycles > 1 {
			several++
		}
		j.note(b, o)
	})
	allocate(300)
	stop()
	if several == 0 {
		t.Skip("no batch covered several cycles: the reader was not slow enough here")
	}
	var sum uint64
	for _, c := range j.collections {
		sum += uint64(c.Cycles)
	}
	if sum != j.cycles || sum < 300 {
		t.Errorf("cycles: got %d in records and %d in batches, want the same, 300 at least", sum, j.cycles)
	}
	for i := 1; i < len(j.marks); i++ {
		if j.marks[i] < j.marks[i-1] {
			t.Errorf("watermark %d went back", i)
		}
	}
	var c = j.collections[len(j.collections)-1]
	if end, ok := c.End.Get(); !ok || j.marks[len(j.marks)-1] < end.Add(-c.Pauses[len(c.Pauses)-1].Slack) {
		t.Errorf("last watermark %d: before the end %d of the last cycle told", j.marks[len(j.marks)-1], end)
	}
	t.Logf("%d batches of several cycles, %d spans unseen", several, len(j.unseen))
}
