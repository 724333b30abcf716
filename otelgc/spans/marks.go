package spans

import (
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/stall"
)

const (
	// A span that never ends would keep its mark for ever.
	maxMarkAge = time.Minute
	sweepEvery = time.Second
)

// marks keeps the marks of spans that have not ended, in shards by their IDs. There are
// none but of spans that started in a slice of exact tracing, and no more than the
// monitor gives out.
type marks [16]struct {
	n     atomic.Int64 // how many there are
	mu    sync.Mutex
	of    map[trace.SpanID]entry.Mark
	swept stall.Instant
}

func (m *marks) put(monitor entry.Monitor, id trace.SpanID, k entry.Mark) {
	s := &m[id[len(id)-1]%byte(len(m))]
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[trace.SpanID]entry.Mark)
	}
	monitor.Release(s.of[id]) // of a span that starts twice, or a generator that repeats itself
	s.of[id] = k
	if k.At.Sub(s.swept) > sweepEvery {
		s.swept = k.At
		for id, old := range s.of {
			if k.At.Sub(old.At) > maxMarkAge {
				delete(s.of, id)
				monitor.Release(old)
				monitor.CountDropped("span", "mark_reclaimed", 1)
			}
		}
	}
	s.n.Store(int64(len(s.of)))
}

// take returns the mark of a span that ended, the zero Mark if it has none.
func (m *marks) take(id trace.SpanID) (k entry.Mark) {
	s := &m[id[len(id)-1]%byte(len(m))]
	if s.n.Load() == 0 {
		return k
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k = s.of[id]
	delete(s.of, id)
	s.n.Store(int64(len(s.of)))
	return k
}
