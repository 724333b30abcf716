package otelgc

import (
	"context"
	"runtime/trace"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Mark says on which goroutine a window's work is done, for who keeps the times
// of windows himself, such as a span processor. The zero Mark says nothing.
type Mark struct {
	at   stall.Instant
	slot int16
	ok   bool
}

// OK reports whether the mark says something.
func (k Mark) OK() bool { return k.ok }

// Since returns when the mark was made.
func (k Mark) Since() stall.Instant { return k.at }

// Mark marks the calling goroutine, in a slice of exact tracing; outside of one,
// and when 4096 windows are followed already, it returns the zero Mark. A Mark
// that is OK has to be given to [Monitor.Resolve] or [Monitor.Release].
func (m *Monitor) Mark() Mark {
	if m == nil {
		return Mark{}
	}
	return m.MarkFrom(0)
}

// MarkFrom is [Monitor.Mark] for a window that began at start, a little ago. One
// that lasts is settled piece by piece, and that begins there: give Resolve the
// same start. Zero means now.
func (m *Monitor) MarkFrom(start stall.Instant) Mark {
	if m == nil || !m.exact.marking() {
		return Mark{}
	}
	slot := m.slots.take()
	if slot == noSlot {
		m.unmarked.Add(1)
		return Mark{}
	}
	k := Mark{at: m.now(), slot: slot, ok: true}
	if start > k.at || start < k.at.Add(-maxArrivalAge) {
		start = k.at
	}
	m.slots.publish(openWindow{slot: slot, held: k.at, start: start})
	trace.Log(context.Background(), m.slots.begin[slot], "")
	return k
}

// Release gives up a mark whose window will not be resolved. Any goroutine may
// call it, and more than once.
func (m *Monitor) Release(k Mark) {
	if m != nil && k.ok {
		m.release(k, m.now())
	}
}

// release reports whether the mark was still in force.
func (m *Monitor) release(k Mark, at stall.Instant) bool {
	if !k.ok || !m.slots.claim(k.slot, k.at) {
		return false
	}
	if m.exact.marking() && m.exact.shared() {
		trace.Log(context.Background(), m.slots.over[k.slot], "")
	}
	m.slots.give(k.slot, at)
	return true
}

// Resolve has tell called when it is known who owns the time of w, up to a few
// seconds from now, on one goroutine off anybody's path: tell must not block, call
// Flush, ResolveNow or Shutdown, nor keep its arguments. The window counts as no request, in no metric. It is
// over: what of it lies after now is cut off, and before the machine was booted,
// and one that ends before it begins is empty. k is released; a window without
// a mark has no goroutine, and of fidelity exact only what covers all of the
// process. The window's Place is filled in.
//
// Resolve reports false if the window is not taken, since too many wait, the monitor
// has been shut down, or the caller is in a bubble of testing/synctest, with a time of
// its own: then tell is never called.
func (m *Monitor) Resolve(k Mark, w stall.Window, tell func(*stall.Window, *stall.Share)) bool {
	if m == nil || tell == nil {
		return false
	}
	now := m.now()
	inForce := m.release(k, now)
	if now <= 0 {
		return false // the caller's time is another one, see elsewhere
	}
	start := clamp(w.Start, 1, now)
	e := ended{
		start: start, end: clamp(w.End, start, now),
		arrival: clamp(w.Arrival, 0, now), receipt: clamp(w.Receipt, 0, now),
		held: k.at, slot: noSlot, tell: tell,
	}
	if inForce {
		e.slot = k.slot
	}
	return m.watched.push(e)
}

func clamp(t, from, to stall.Instant) stall.Instant { return min(max(t, from), to) }

// ResolveNow resolves the windows of [Monitor.Resolve] that have ended with what
// is known by now; what the sources have not passed is unseen. It returns when
// their tell functions have returned, or with ctx's error.
func (m *Monitor) ResolveNow(ctx context.Context) error {
	if m == nil {
		return nil
	}
	m.hasten.Store(true)
	return m.turned(ctx)
}

// Instant returns t on the monitor's clock: exactly where t has a monotonic
// reading, by the offset of wall time in force where it has none.
func (m *Monitor) Instant(t time.Time) stall.Instant {
	if m == nil {
		return 0
	}
	if at, ok := m.clock.At(t); ok {
		return at
	}
	return stall.Instant(t.UnixNano()) - stall.Instant(m.wallOffset())
}

// CountDropped counts in otelgc.monitor.dropped what a companion of the monitor,
// such as a span processor, did not keep: n of item, and why.
func (m *Monitor) CountDropped(item, why string, n uint64) {
	if m != nil {
		m.tel.Dropped(item, why, n)
	}
}
