package hostwatch

import (
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// maxKept bounds the spans of one kind that are remembered: minutes of an
// ordinary process.
const maxKept = 1 << 14

// history remembers of late what may be asked about a pause.
type history struct {
	hostcount.History
	waits         kept // of threads
	denied, paged kept // of the process
	known         stall.Span
}

// know says that the scheduler was followed all through s, which begins where
// the last one ended, or after a hole.
func (h *history) know(s stall.Span) {
	if s.Start != h.known.End {
		h.known.Start = s.Start
	}
	h.known.End = s.End
}

// kept are spans of late.
type kept struct {
	spans     []stall.Span // by their ends, roughly
	forgotten stall.Instant
}

func (k *kept) add(spans []stall.Span) {
	if over := len(spans) - maxKept; over > 0 {
		k.forget(spans[:over])
		spans = spans[over:]
	}
	if over := len(k.spans) + len(spans) - maxKept; over > 0 {
		over = min(max(over, maxKept/4), len(k.spans))
		k.forget(k.spans[:over])
		k.spans = k.spans[:copy(k.spans, k.spans[over:])]
	}
	k.spans = append(k.spans, spans...)
}

// forget notes what is no longer kept.
func (k *kept) forget(spans []stall.Span) {
	for _, s := range spans {
		k.forgotten = max(k.forgotten, s.End)
	}
}

// in returns how long the spans are in s, together.
func (k *kept) in(s stall.Span) gc.Maybe[time.Duration] {
	if s.Start < k.forgotten {
		return gc.Maybe[time.Duration]{}
	}
	var sum time.Duration
	for _, v := range k.spans {
		sum += v.Clip(s).Duration()
	}
	return gc.Known(sum)
}

// during returns what the machine did in s: what the scheduler tells exactly,
// where it was followed all the time, and the rest as it was counted around s.
func (h *history) during(s stall.Span) gc.HostDuring {
	d := h.During(s)
	if s.Start < h.known.Start || s.End > h.known.End {
		return d
	}
	d.CPUWait, d.PageWait = h.denied.in(s), h.paged.in(s)
	if delay := h.waits.in(s); !delay.IsZero() {
		d.RunDelay = delay
	}
	return d
}
