package attribution

import (
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	boot   = "7c0e2f6a-52f3-4a70-9d2a-3f3c5d5e0a11"
	offset = int64(1_700_000_000_000_000_000) // wall = instant + offset
	ms     = int64(time.Millisecond)
	sec    = int64(time.Second)
)

// sender makes telemetry as otelgc and the sidecar do.
type sender struct {
	boot string
	pid  int64
	with map[string]string // of the resource
	off  int64
	// bare spans have no boot id on their resource.
	bare bool
	// told is the end of the last status of each source: the next begins there.
	told map[teller]int64
}

type teller struct {
	boot   string
	pid    int64
	source stall.Origin
}

func newSender() *sender {
	return &sender{boot: boot, pid: 42, off: offset, told: map[teller]int64{}}
}

func (s *sender) resource(m pcommon.Map) {
	m.PutInt(semconv.AttrProcessPID, s.pid)
	for k, v := range s.with {
		m.PutStr(k, v)
	}
}

func (s *sender) event(name string, source stall.Origin, start, end int64, more func(pcommon.Map)) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	s.resource(rl.Resource().Attributes())
	r := rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty()
	r.SetEventName(name)
	m := r.Attributes()
	m.PutStr(semconv.AttrBootID, s.boot)
	m.PutInt(semconv.AttrProcessPID, s.pid)
	m.PutStr(semconv.AttrSource, source.String())
	m.PutInt(semconv.AttrStart, start)
	m.PutInt(semconv.AttrEnd, end)
	if more != nil {
		more(m)
	}
	return ld
}

func (s *sender) status(source stall.Origin, at int64) plog.Logs {
	from, ok := s.told[teller{s.boot, s.pid, source}]
	if !ok || from > at {
		from = at - sec
	}
	s.told[teller{s.boot, s.pid, source}] = at
	return s.event(semconv.EventSourceStatus, source, max(from, 0), at, func(m pcommon.Map) {
		m.PutInt(semconv.AttrWatermark, at)
		m.PutInt(semconv.AttrWallOffset, s.off)
		m.PutInt(semconv.AttrWallError, 100)
	})
}

func (s *sender) collection(source stall.Origin, index, start, end, slack int64) plog.Logs {
	return s.collectionOf(gc.NoKind, source, index, start, end, slack)
}

func (s *sender) collectionOf(kind gc.Kind, source stall.Origin, index, start, end, slack int64) plog.Logs {
	return s.event(semconv.EventCollection, source, start, end, func(m pcommon.Map) {
		m.PutInt(semconv.AttrGCIndex, index)
		if kind != gc.NoKind {
			m.PutStr(semconv.AttrGCKind, kind.String())
		}
		m.PutEmptySlice(semconv.AttrPauseStart).AppendEmpty().SetInt(start)
		m.PutEmptySlice(semconv.AttrPauseEnd).AppendEmpty().SetInt(end)
		m.PutEmptySlice(semconv.AttrPauseSlack).AppendEmpty().SetInt(slack)
	})
}

func (s *sender) gap(source stall.Origin, cause stall.Cause, scope stall.Scope, start, end int64) plog.Logs {
	return s.event(semconv.EventGap, source, start, end, func(m pcommon.Map) {
		m.PutStr(semconv.AttrCause, cause.String())
		m.PutStr(semconv.AttrScope, scope.String())
		if scope == stall.ScopeTarget {
			m.PutInt(semconv.AttrTargetPID, s.pid)
		}
	})
}

// traced is a request of a slice. What of its time no owner has is unseen.
func (s *sender) traced(start, end int64, name string, owners map[string]float64) plog.Logs {
	return s.event(semconv.EventTraced, stall.GoTrace, start, end, func(m pcommon.Map) {
		m.PutStr(semconv.AttrTask, name)
		m.PutStr(semconv.AttrFidelity, stall.Exact.String())
		m.PutStr(semconv.AttrGCOverlap, semconv.Overlap(len(owners)%2))
		m.PutDouble(semconv.AttrCoverage, 1)
		for owner, seconds := range owners {
			m.PutDouble(semconv.AttrStallPrefix+owner, seconds)
		}
	})
}

// span makes one server span of a service.
func (s *sender) span(start, end int64) ptrace.Traces {
	td := ptrace.NewTraces()
	rs := td.ResourceSpans().AppendEmpty()
	s.resource(rs.Resource().Attributes())
	rs.Resource().Attributes().PutStr("service.name", "shop")
	if !s.bare {
		rs.Resource().Attributes().PutStr(semconv.AttrBootID, s.boot)
	}
	sp := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	sp.SetKind(ptrace.SpanKindServer)
	sp.SetName("GET /")
	sp.SetStartTimestamp(pcommon.Timestamp(start + s.off))
	sp.SetEndTimestamp(pcommon.Timestamp(end + s.off))
	return td
}

// ended is a sink that takes everything.
func ended(p *Parcel) { p.Done(true) }

// catcher is a sink that keeps what it is given.
type catcher struct {
	mu    sync.Mutex
	spans []ptrace.Span
	slow  []plog.LogRecord
}

func (c *catcher) sink() Sink {
	return Sink{
		Take: func(p *Parcel) {
			c.mu.Lock()
			defer c.mu.Unlock()
			defer p.Done(true)
			for _, rs := range p.Spans.ResourceSpans().All() {
				for _, ss := range rs.ScopeSpans().All() {
					for _, s := range ss.Spans().All() {
						c.spans = append(c.spans, s)
					}
				}
			}
		},
		Slow: func(ld plog.Logs) {
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, rl := range ld.ResourceLogs().All() {
				for _, sl := range rl.ScopeLogs().All() {
					for _, r := range sl.LogRecords().All() {
						c.slow = append(c.slow, r)
					}
				}
			}
		},
		Count: true,
	}
}

// floats returns the attributes of ours that are numbers.
func floats(m pcommon.Map) map[string]float64 {
	got := map[string]float64{}
	for k, v := range m.All() {
		if v.Type() == pcommon.ValueTypeDouble {
			got[k] = v.Double()
		}
	}
	return got
}

func str(t *testing.T, m pcommon.Map, key string) string {
	t.Helper()
	v, ok := m.Get(key)
	if !ok {
		t.Fatalf("no attribute %s", key)
	}
	return v.Str()
}

// start is some time, so that no test depends on the clock.
var start = time.Unix(0, offset+100*sec)
