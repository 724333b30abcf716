package gaps

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// TestGapsNotCompared: a document says of how many long gaps nothing is known.
func TestGapsNotCompared(t *testing.T) {
	c := NewRecorded(0)
	c.long = make([]longGap, maxLong)
	for range 3 {
		c.Add(&jitterprobe.Gap{Interval: stall.Interval{Start: 1, End: 1 + stall.Instant(time.Millisecond)}})
	}
	c.Settle(nil, stall.Span{}, false)
	if c.Long != maxLong || c.NotCompared != 3 {
		t.Errorf("%d long gaps and %d that were not compared, want %d and 3", c.Long, c.NotCompared, maxLong)
	}
}
