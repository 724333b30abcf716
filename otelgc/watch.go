package otelgc

import (
	"context"
	"runtime/trace"
	"time"

	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// keeper is a Monitor for companions that keep the times of windows themselves. It is an
// [entry.Monitor] and an [entry.Page], whose methods are documented there.
type keeper struct{ *Monitor }

func init() {
	entry.Of = func(monitor any) entry.Monitor { return keeper{monitor.(*Monitor)} }
	entry.PageOf = func(monitor any) entry.Page { return keeper{monitor.(*Monitor)} }
}

func (m keeper) Mark(start stall.Instant) entry.Mark {
	if !m.exact.Marking() {
		return entry.Mark{}
	}
	slot := m.windows.Slots.Take()
	if slot == window.NoSlot {
		m.windows.unmarked.Add(1)
		return entry.Mark{}
	}
	k := entry.Mark{At: m.path.now(), Slot: slot, OK: true}
	if start > k.At || start < k.At.Add(-maxArrivalAge) {
		start = k.At
	}
	m.windows.Slots.Publish(window.Open{Slot: slot, Held: k.At, Start: start})
	trace.Log(context.Background(), m.windows.Slots.Begin[slot], "")
	return k
}

func (m keeper) Release(k entry.Mark) { m.release(k, m.path.now()) }

// release reports whether the mark was still in force.
func (m keeper) release(k entry.Mark, at stall.Instant) bool {
	if !k.OK || !m.windows.Slots.Claim(k.Slot, k.At) {
		return false
	}
	if m.exact.Marking() && m.exact.Shared() {
		trace.Log(context.Background(), m.windows.Slots.Over[k.Slot], "")
	}
	m.windows.Slots.Give(k.Slot, at)
	return true
}

func (m keeper) Resolve(k entry.Mark, w stall.Window, tell func(*stall.Window, *stall.Share)) bool {
	now := m.path.now()
	inForce := m.release(k, now)
	if now <= 0 {
		return false // the caller's time is another one, see elsewhere
	}
	start := clamp(w.Start, 1, now)
	e := window.Ended{
		Start: start, End: clamp(w.End, start, now),
		Arrival: clamp(w.Arrival, 0, now), Receipt: clamp(w.Receipt, 0, now),
		Held: k.At, Slot: window.NoSlot, Tell: tell,
	}
	if inForce {
		e.Slot = k.Slot
	}
	return m.windows.Asked.Push(e)
}

func clamp(t, from, to stall.Instant) stall.Instant { return min(max(t, from), to) }

func (m keeper) ResolveNow(ctx context.Context) error {
	m.windows.Flush()
	return m.loop.turned(ctx)
}

func (m keeper) Instant(t time.Time) stall.Instant {
	if at, ok := m.here.clock.At(t); ok {
		return at
	}
	return stall.Instant(t.UnixNano()) - stall.Instant(m.wallOffset())
}

func (m keeper) Observe(o entry.Observer) {
	m.path.askFrom.Store(0) // o sees all requests, with their spans
	for h := &m.hooks; ; {
		old := h.observers.Load()
		list := []entry.Observer{o}
		if old != nil {
			list = append(list, *old...)
		}
		if h.observers.CompareAndSwap(old, &list) {
			return
		}
	}
}

func (m keeper) Losses() map[[2]string]uint64 { return m.tel.Losses() }

func (m keeper) Capture(c entry.Capturer) bool {
	if !m.hooks.capturer.CompareAndSwap(nil, &c) {
		return false
	}
	m.exact.KeepRaw()
	m.Observe(c)
	return true
}

func (m keeper) Report(err error) { m.operator.report(err) }

func (m keeper) CountDropped(item, why string, n uint64) { m.tel.Dropped(item, why, n) }

func (m keeper) CountPanic(item, what string, value any) { m.operator.count(item, what, value) }
