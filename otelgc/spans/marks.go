package spans

import (
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

const (
	shards = 16
	// A span that never ends would keep its mark for ever.
	maxMarkAge = time.Minute
	sweepEvery = time.Second
)

// marks keeps the marks of spans that have not ended. There are none but of
// spans that started in a slice of exact tracing, and no more than the monitor
// gives out.
type marks struct{ shard [shards]shard }

type shard struct {
	n     atomic.Int64 // how many there are
	mu    sync.Mutex
	of    map[trace.SpanID]otelgc.Mark
	swept stall.Instant
}

func (m *marks) shardOf(id trace.SpanID) *shard { return &m.shard[id[len(id)-1]%shards] }

func (m *marks) put(monitor *otelgc.Monitor, id trace.SpanID, k otelgc.Mark) {
	s := m.shardOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil {
		s.of = make(map[trace.SpanID]otelgc.Mark)
	}
	if before, ok := s.of[id]; ok { // a span that starts twice, or a generator that repeats itself
		monitor.Release(before)
	}
	s.of[id] = k
	if now := k.Since(); now.Sub(s.swept) > sweepEvery {
		s.swept = now
		s.sweep(monitor, now.Add(-maxMarkAge))
	}
	s.n.Store(int64(len(s.of)))
}

// sweep gives up the marks of spans that are too old.
func (s *shard) sweep(monitor *otelgc.Monitor, oldest stall.Instant) {
	for id, k := range s.of {
		if k.Since() < oldest {
			delete(s.of, id)
			monitor.Release(k)
			monitor.CountDropped("span", "mark_reclaimed", 1)
		}
	}
}

// take returns the mark of a span that ended, the zero Mark if it has none.
func (m *marks) take(id trace.SpanID) otelgc.Mark {
	s := m.shardOf(id)
	if s.n.Load() == 0 {
		return otelgc.Mark{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.of[id]
	if ok {
		delete(s.of, id)
		s.n.Store(int64(len(s.of)))
	}
	return k
}
