package dotnet

import (
	"slices"

	"github.com/otelgc/otelgc/internal/dotnetgc"
	"github.com/otelgc/otelgc/stall"
)

// maxWaiting bounds the collections that are waited for.
const maxWaiting = 64

// waiting knows the collections of which a stop was seen and whose record is
// not there yet: that of a background collection comes at its end. The pauses
// come with the record, so the watermark may not pass the first of them.
type waiting struct {
	since   map[uint64]stall.Instant // start of the first stop, by index
	pending stall.Instant            // start of a stop that is not over, 0 for none
	there   []uint64                 // indexes of the last records, at most maxWaiting
}

func (w *waiting) stop(s *dotnetgc.Stop) {
	if w.since == nil {
		w.since = make(map[uint64]stall.Instant)
	}
	for _, index := range s.Collections {
		if slices.Contains(w.there, index) {
			continue // events were lost: the record came before its stop
		}
		if first, ok := w.since[index]; !ok || s.Start() < first {
			w.since[index] = s.Start()
		}
	}
	for len(w.since) > maxWaiting {
		delete(w.since, w.oldest())
	}
}

func (w *waiting) collection(index uint64) {
	delete(w.since, index)
	if len(w.there) == maxWaiting {
		w.there = slices.Delete(w.there, 0, 1)
	}
	w.there = append(w.there, index)
}

func (w *waiting) oldest() uint64 {
	var oldest uint64
	for index := range w.since {
		if oldest == 0 || index < oldest {
			oldest = index
		}
	}
	return oldest
}

// reset forgets all: the session is over.
func (w *waiting) reset() { *w = waiting{} }

// bound returns the watermark, no later than what is waited for.
func (w *waiting) bound(mark stall.Instant) stall.Instant {
	if w.pending != 0 {
		mark = min(mark, w.pending)
	}
	for _, start := range w.since {
		mark = min(mark, start)
	}
	return mark
}
