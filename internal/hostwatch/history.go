package hostwatch

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Limits of what is remembered: minutes of an ordinary process.
const (
	maxWaits   = 1 << 14
	maxSamples = 1 << 11
)

// sample is a reading of counters.
type sample struct {
	at          stall.Instant
	majorFaults uint64
	throttled   time.Duration
}

// history remembers of late what may be asked about a pause.
type history struct {
	waits     []stall.Span // of threads, by their ends, roughly
	forgotten stall.Instant
	samples   []sample
	exact     bool
}

// add takes in the waits of a batch, if they are known, and the counters at its
// end.
func (h *history) add(waits []stall.Span, exact bool, s sample) {
	h.exact = exact
	if over := len(h.waits) + len(waits) - maxWaits; over > 0 {
		over = min(max(over, maxWaits/4), len(h.waits))
		for _, w := range h.waits[:over] {
			h.forgotten = max(h.forgotten, w.End)
		}
		h.waits = h.waits[:copy(h.waits, h.waits[over:])]
	}
	h.waits = append(h.waits, waits[:min(len(waits), maxWaits)]...)
	if len(h.samples) == maxSamples {
		h.samples = h.samples[:copy(h.samples, h.samples[maxSamples/4:])]
	}
	h.samples = append(h.samples, s)
}

// during returns what the machine did in s. Waits are exact, from the threshold
// on; what is counted is so between the readings around s, up to 100 ms before
// it and after: at most that much is of s.
func (h *history) during(s stall.Span, mark stall.Instant) (d gc.HostDuring) {
	var before, after *sample
	for i := range h.samples {
		switch v := &h.samples[i]; {
		case v.at <= s.Start:
			before = v
		case v.at >= s.End && after == nil:
			after = v
		}
	}
	if before != nil && after != nil {
		d.MajorFaults = gc.Known(after.majorFaults - min(after.majorFaults, before.majorFaults))
		d.Throttled = gc.Known(max(0, after.throttled-before.throttled))
	}
	if !h.exact || before == nil || s.Start < h.forgotten || s.End > mark {
		return d
	}
	var sum time.Duration
	for _, w := range h.waits {
		sum += w.Clip(s).Duration()
	}
	d.RunDelay = gc.Known(sum)
	return d
}
