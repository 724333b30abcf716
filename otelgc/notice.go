package otelgc

import (
	"context"
	"time"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// cycleSource is what cycle fidelity knows, in the form the join takes.
type cycleSource struct {
	log     *stall.Log
	buckets []gcwatch.Bucket // pauses counted since the newest collection
	base    gcwatch.Totals   // at Start
}

// watch begins to watch the collections of this process. The first batch is the
// baseline that sums count from.
func (m *Monitor) watch() error {
	watcher, err := gcwatch.New(gcwatch.Options{Clock: m.clock})
	if err != nil {
		return err
	}
	watcher.Flush()
	b, err := watcher.Next(context.Background())
	if err != nil {
		return err
	}
	m.watcher, m.watching = watcher, make(chan struct{})
	totals := &watcher.Observations().Totals
	m.cycle.base, m.first = *totals, totals.Cycles
	m.cycle.log.Advance(b.Watermark)
	m.totals(totals)
	go func() {
		defer close(m.watching)
		for {
			b, err := watcher.Next(context.Background())
			if err != nil {
				return // io.EOF: it is closed
			}
			m.learnCycles(&b, watcher.Observations())
			m.batches.end()
		}
	}()
	return nil
}

// flushCycles waits until all collections that have ended by now are known.
func (m *Monitor) flushCycles(ctx context.Context) error {
	for range 2 { // a batch under way may have been read before
		over := m.batches.over()
		m.watcher.Flush()
		select {
		case <-over:
		case <-m.watching:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// learnCycles takes in what the watcher saw. It runs on the watcher's goroutine.
func (m *Monitor) learnCycles(b *source.Batch, o *gcwatch.Observations) {
	c := &m.cycle
	for _, s := range b.Unseen {
		c.log.MarkUnseen(s)
	}
	for i := range b.Collections {
		m.begins.addCycle(b.Collections[i].Pauses)
	}
	for _, v := range b.Intervals {
		c.log.Add(v)
	}
	m.suspensions.hold(b.Intervals)
	m.tel.Dropped("suspension", "limit", b.Lost.Count)
	c.log.Advance(b.Watermark)
	for _, h := range o.GCPauses {
		m.tel.GoPauses(h.Middle, h.Count)
	}
	for _, h := range o.GCStopping {
		m.tel.Suspends(o.Kind, h.Middle, h.Count)
	}
	c.buckets = append(c.buckets, o.GCPauses...)
	if len(b.Collections) > 0 {
		m.reconciler.hold(b.Collections, c.buckets)
		c.buckets = c.buckets[:0]
	}
	m.totals(&o.Totals)
	m.kick()
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
	c := &m.cycle
	m.records.mu.Lock()
	defer m.records.mu.Unlock()
	m.records.sum.AllocatedBytes = t.AllocatedBytes - c.base.AllocatedBytes
	m.records.sum.GCCPU = t.CPU.GC - c.base.CPU.GC
}

func known(d time.Duration) gc.Maybe[time.Duration] { return gc.Known(d) }

// settled takes a collection whose fidelity is known.
func (m *Monitor) settled(h *held) {
	c := &h.Collection
	if c.Cycles > 1 {
		m.tel.Dropped("collection", "overrun", uint64(c.Cycles))
	}
	for _, b := range h.notice.settle(c) {
		m.tel.CyclePauses(c.Kind, b.Middle, b.Count)
	}
	m.hosts.tell(c)
	m.records.add(c)
	m.tel.Collection(c)
	if f, ok := c.PauseUtilization.Get(); ok {
		m.tel.PauseUtilization("process", f)
	}
	if !m.pause.offer(c) {
		m.tel.Dropped("on_pause", "limit", 1)
	}
}
