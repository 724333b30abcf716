package exact

import (
	"testing"

	"github.com/otelgc/otelgc/stall"
)

// TestTraceStoreIsBounded: what nobody asks for is forgotten.
func TestTraceStoreIsBounded(t *testing.T) {
	b, _ := newTestTimeline()
	for i := range stall.Instant(20) {
		var cycles [][]stall.Instant
		for k := range stall.Instant(500) {
			at := second*(i+1) + k*1e6
			cycles = append(cycles, []stall.Instant{at, at + 10, at + 20, at + 30})
		}
		b.Learn(decoded(second*(i+1), second*(i+2), cycles...), nil)
	}
	if n := len(b.stops.pauses); n > 3 {
		t.Errorf("%d stops of one collection are kept", n)
	}
}
