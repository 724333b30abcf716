package otelgc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
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
		m.operator.report(fmt.Errorf("read source: %w", err))
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

// reader reads a source until it is over. A nil reader reads none.
type reader struct {
	source source.Source
	done   chan struct{} // closed when the source is over
}

// read begins to read s, on a goroutine of its own. Failed is called with each error,
// and reports whether to read on.
func read(s source.Source, take func(*source.Batch), failed func(error) bool) *reader {
	r := &reader{s, make(chan struct{})}
	go func() {
		defer close(r.done)
		for {
			b, err := s.Next(context.Background())
			switch {
			case err == nil:
				take(&b)
			case errors.Is(err, io.EOF) || !failed(err):
				return
			}
		}
	}()
	return r
}

// close ends the source, and returns when all of it was read.
func (r *reader) close() error {
	if r == nil {
		return nil
	}
	err := r.source.Close()
	<-r.done
	return err
}

// watch begins to watch the collections of this process. The first batch is the
// baseline that sums count from.
func (m *Monitor) watch() error {
	watcher, err := gcwatch.New(gcwatch.Options{Clock: m.here.clock})
	if err != nil {
		return err
	}
	watcher.Flush()
	b, err := watcher.Next(context.Background())
	if err != nil {
		return err
	}
	m.cycles.watcher = watcher
	totals := &watcher.Observations().Totals
	m.cycles.atStart, m.cycles.first = *totals, totals.Cycles
	m.timeline.Cycle.Advance(b.Watermark)
	m.totals(totals)
	m.cycles.watching = read(watcher, func(b *source.Batch) {
		m.learnCycles(b, watcher.Observations())
		m.cycles.batches.end()
	}, func(error) bool { return false }) // it has none
	return nil
}

// flushCycles waits until all collections that have ended by now are known.
func (m *Monitor) flushCycles(ctx context.Context) error {
	for range 2 { // a batch under way may have been read before
		over := m.cycles.batches.over()
		m.cycles.watcher.Flush()
		select {
		case <-over:
		case <-m.cycles.watching.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// learnCycles takes in what the watcher saw. It runs on the watcher's goroutine.
func (m *Monitor) learnCycles(b *source.Batch, o *gcwatch.Observations) {
	m.timeline.Watched(b, o.GCPauses)
	m.tel.Dropped("suspension", "limit", b.Lost.Count)
	for _, h := range o.GCPauses {
		m.tel.GoPauses(h.Middle, h.Count)
	}
	for _, h := range o.GCStopping {
		m.tel.Suspends(o.Kind, h.Middle, h.Count)
	}
	m.totals(&o.Totals)
	m.loop.kick()
}

// totals replaces what the observable counters read.
func (m *Monitor) totals(t *gcwatch.Totals) {
	m.tel.GoTotals(telemetry.GoTotals{
		GCAssist: known(t.CPU.GCAssist), GCDedicated: known(t.CPU.GCDedicated),
		GCIdle: known(t.CPU.GCIdle), GCPause: known(t.CPU.GCPause),
		ScavengeAssist: known(t.CPU.ScavengeAssist), ScavengeBackground: known(t.CPU.ScavengeBackground),
		User: known(t.CPU.User), Idle: known(t.CPU.Idle),
		Allocated: gc.Known(t.AllocatedBytes),
	})
	m.records.mu.Lock()
	defer m.records.mu.Unlock()
	m.records.sum.AllocatedBytes = t.AllocatedBytes - m.cycles.atStart.AllocatedBytes
	m.records.sum.GCCPU = t.CPU.GC - m.cycles.atStart.CPU.GC
}

func known(d time.Duration) gc.Maybe[time.Duration] { return gc.Known(d) }

// settled takes a collection whose fidelity is known, and with the last of a notice the
// pauses of those in fidelity cycle.
func (m *Monitor) settled(c *gc.Collection, pauses []gcwatch.Bucket) {
	if c.Cycles > 1 {
		m.tel.Dropped("collection", "overrun", uint64(c.Cycles))
	}
	for _, b := range pauses {
		m.tel.CyclePauses(c.Kind, b.Middle, b.Count)
	}
	m.machine.side.Fill(c)
	m.records.add(c)
	m.tel.Collection(c)
	if f, ok := c.PauseUtilization.Get(); ok {
		m.tel.PauseUtilization("process", f)
	}
	if !m.hooks.pause.offer(c) {
		m.tel.Dropped("on_pause", "limit", 1)
	}
}

// reportLost counts collections and suspensions that waited for too long. The next
// status calls their time unseen.
func (m *Monitor) reportLost() {
	collections, suspensions := m.timeline.Lost()
	for item, lost := range map[string]timeline.Lost{"collection": collections, "suspension": suspensions} {
		if lost.Count > 0 {
			m.tel.Dropped(item, "held_limit", lost.Count)
			m.tel.Untold(stall.GCWatch, lost.Span)
		}
	}
}
