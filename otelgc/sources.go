package otelgc

import (
	"fmt"
	"sync"
	"time"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// added is a source that WithSource adds. Its intervals are events and metrics; the
// join takes none of them, since the tracer and the watcher know the stops of this
// process by their causes.
type added struct {
	*reader

	mu        sync.Mutex
	watermark stall.Instant
	unseen    []stall.Span // since the last status

	// Of the loop:
	observed time.Duration
	lost     uint64
}

// maxUnseen bounds the spans that a source did not see between two statuses. If there
// are more, the last one reaches to the end of all.
const maxUnseen = semconv.MaxUnseen

// add reads a source until it is over.
func (m *Monitor) add(s source.Source) {
	a := new(added)
	explainer, explains := s.(source.Explainer)
	a.reader = read(s, func(b *source.Batch) {
		for i, v := range b.Intervals {
			m.tel.Gap(v, func() string {
				if !explains {
					return ""
				}
				return explainer.Evidence(i)
			})
		}
		a.take(b)
	}, func(err error) bool {
		m.tellOperator(fmt.Errorf("read source: %w", err))
		return false
	})
	m.added = append(m.added, a)
}

func (a *added) take(b *source.Batch) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.watermark = max(a.watermark, b.Watermark)
	for _, s := range b.Unseen {
		if n := len(a.unseen); n == maxUnseen {
			a.unseen[n-1].End = max(a.unseen[n-1].End, s.End)
		} else {
			a.unseen = append(a.unseen, s)
		}
	}
}

// report brings the metrics of the source up to date, and sends its status.
func (a *added) report(m *Monitor, since, now stall.Instant, wall stall.WallOffset) {
	r, ok := a.source.(source.Reporter)
	if !ok {
		return
	}
	s := r.Status()
	m.tel.Observed(s.Origin, s.Observed-a.observed)
	m.tel.Dropped("gap", "ring_full", s.Lost.Count-a.lost)
	m.tel.Coverage(s.Origin, s.Coverage)
	a.observed, a.lost = s.Observed, s.Lost.Count
	a.mu.Lock()
	watermark, unseen := a.watermark, a.unseen
	a.unseen = nil
	a.mu.Unlock()
	m.tel.Status(semconv.Status{
		Origin: s.Origin, Since: since, At: now, Watermark: watermark, Unseen: unseen, Wall: wall,
		Dropped: s.Lost.Count, DroppedTime: s.Lost.Time, ProbedCPUs: s.CPUs,
	})
}
