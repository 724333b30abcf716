package truth

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TestOverlap: where a request's own work is what was injected, it is what the
// request worked more than others, in the injection; and what waited for longer
// than that is of no known cause.
func TestOverlap(t *testing.T) {
	const ms = time.Millisecond
	of := func(from, to, worked time.Duration) *request {
		return &request{Begin: [2]stall.Instant{0, stall.Instant(from)}, End: [2]stall.Instant{stall.Instant(to), 0}, Worked: worked}
	}
	for _, c := range []struct {
		name    string
		usual   time.Duration
		r       *request
		overlap time.Duration
		waited  bool
	}{
		{"no thread of its own", 0, of(0, 20*ms, 0), 10 * ms, false},
		{"worked all the time", 2 * ms, of(12*ms, 20*ms, 8*ms), 6 * ms, false},
		{"worked mostly outside of the injection", 2 * ms, of(0, 14*ms, 14*ms), 4 * ms, false},
		{"worked less than others", 2 * ms, of(10*ms, 20*ms, ms), 0, true},
		{"waited for longer", 2 * ms, of(10*ms, 20*ms, 5*ms), 3 * ms, true},
	} {
		b := &bench{usual: c.usual, record: record{Injected: []stall.Span{{Start: stall.Instant(10 * ms), End: stall.Instant(40 * ms)}}}}
		if got := b.overlap(c.r); got != c.overlap {
			t.Errorf("%s: overlap %v, want %v", c.name, got, c.overlap)
		}
		if got := b.waited(c.r); got != c.waited {
			t.Errorf("%s: waited for longer %v, want %v", c.name, got, c.waited)
		}
	}
}
