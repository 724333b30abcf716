package otelgc

import (
	"time"

	"github.com/otelgc/otelgc/internal/gcwatch"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// cycleSource is what cycle fidelity knows, in the form the join takes.
type cycleSource struct {
	log     *stall.Log
	buckets []gcwatch.Bucket // pauses counted since the newest collection
	base    gcwatch.Totals   // at Start
	begun   bool
}

// onNotice takes in what the watcher saw. It runs on the watcher's goroutine. The
// first notice, of Start, says what sums count from: what is in it was before.
func (m *Monitor) onNotice(n *gcwatch.Notice) {
	c := &m.cycle
	if !c.begun {
		c.begun, c.base = true, n.Totals
		m.first = n.Totals.Cycles
		c.log.Advance(n.Watermark)
		m.totals(&n.Totals)
		return
	}
	for _, s := range n.Unseen {
		c.log.MarkUnseen(s)
	}
	for i := range n.Collections {
		m.begins.addCycle(n.Collections[i].Pauses)
		for _, p := range n.Collections[i].Pauses {
			c.log.Add(pauseInterval(p))
		}
	}
	for _, v := range n.Suspensions {
		c.log.Add(v)
	}
	m.suspensions.hold(n.Suspensions)
	m.tel.Dropped("suspension", "limit", n.SuspensionsDropped)
	c.log.Advance(n.Watermark)
	for _, b := range n.GCPauses {
		m.tel.GoPauses(b.Middle, b.Count)
	}
	for _, b := range n.GCStopping {
		m.tel.Suspends(n.Kind, b.Middle, b.Count)
	}
	c.buckets = append(c.buckets, n.GCPauses...)
	if len(n.Collections) > 0 {
		m.reconciler.hold(n.Collections, c.buckets)
		c.buckets = c.buckets[:0]
	}
	m.totals(&n.Totals)
	m.kick()
}

// pauseInterval spreads a pause to where it may lie: in fidelity cycle that is
// its slack.
func pauseInterval(p gc.Pause) stall.Interval {
	return stall.Interval{
		Start: p.Start, End: p.End, Slack: p.Slack,
		Cause: stall.GCPause, Origin: stall.GCWatch, CPU: -1,
	}
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
