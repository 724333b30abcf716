package hostcount

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// maxReadings bounds what is remembered: minutes of an ordinary process.
const maxReadings = 1 << 11

// Reading is what was counted up to an instant of Span, in which it was read.
// RunDelay is not in every one: it is dear.
type Reading struct {
	stall.Span
	Counts
	RunDelay gc.Maybe[time.Duration]
	Threads  int // where RunDelay is known
}

// History remembers the readings of late. The zero History holds none.
type History struct{ readings []Reading }

// Add takes in the next reading, after the last.
func (h *History) Add(r Reading) {
	if len(h.readings) == maxReadings {
		h.readings = h.readings[:copy(h.readings, h.readings[maxReadings/4:])]
	}
	h.readings = append(h.readings, r)
}

// Last returns when the last reading was begun, 0 if there is none.
func (h *History) Last() stall.Instant {
	if len(h.readings) == 0 {
		return 0
	}
	return h.readings[len(h.readings)-1].Start
}

// During returns what was counted around s: between the last reading before it
// and the first after, and Over says how long that is. Nothing is known without
// both.
func (h *History) During(s stall.Span) (d gc.HostDuring) {
	each := func(*Reading) bool { return true }
	before, after := h.around(s, each)
	if before == nil || after == nil {
		return d
	}
	d.MajorFaults = gc.Known(after.MajorFaults - min(after.MajorFaults, before.MajorFaults))
	d.Throttled = Since(after.Throttled, before.Throttled)
	d.Stolen = gc.Known(max(0, after.Stolen-before.Stolen))
	over := after.End.Sub(before.Start)
	before, after = h.around(s, func(r *Reading) bool { return !r.RunDelay.IsZero() })
	if before != nil && after != nil {
		d.RunDelay = gc.Known(max(0, after.RunDelay.Or(0)-before.RunDelay.Or(0)))
		over = max(over, after.End.Sub(before.Start))
	}
	d.Over = gc.Known(over)
	return d
}

// Since returns what was added to a counter of time, if that is known of both.
func Since(now, before gc.Maybe[time.Duration]) gc.Maybe[time.Duration] {
	a, ok1 := now.Get()
	b, ok2 := before.Get()
	if !ok1 || !ok2 {
		return gc.Maybe[time.Duration]{}
	}
	return gc.Known(max(0, a-b))
}

// around returns the last reading before s and the first after it that has what
// is wanted, nil for none.
func (h *History) around(s stall.Span, has func(*Reading) bool) (before, after *Reading) {
	for i := len(h.readings) - 1; i >= 0; i-- {
		r := &h.readings[i]
		if !has(r) {
			continue
		}
		if r.End <= s.Start {
			return r, after
		}
		if r.Start >= s.End {
			after = r
		}
	}
	return nil, after
}
