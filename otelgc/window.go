package otelgc

import (
	"context"
	"runtime/trace"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/stall"
)

// window is one open window. It lives on the stack of who opened it. It has four
// words: one more, and the compiler would copy it through memory, which costs as
// much as a lock.
type window struct {
	ref   *windowRef
	start stall.Instant
	span  oteltrace.Span
}

// windowRef is where a window lies: in a monitor, and in a slot of its or in none. It
// is never changed.
type windowRef struct {
	m     *Monitor
	slot  int16
	route routeID
}

// on returns the same place for windows of a route.
func (h *windowRef) on(route routeID) *windowRef {
	if h.route == route {
		return h
	}
	if h.slot == noSlot {
		return h.m.requests.routes.ref(h.m, route)
	}
	return &windowRef{h.m, h.slot, route}
}

// begin opens the window. Who has more to say of it does so before it is marked.
func (w *window) begin(m *Monitor) {
	w.ref = &m.windows.outside
	if m.exact.marking() {
		if slot := m.windows.slots.take(); slot != noSlot {
			w.ref = &m.windows.slots.refs[slot]
		}
	}
	w.start = m.now.instant()
}

// mark says in the trace on which goroutine the window is, if it has a slot. The
// marks lie inside the window, and a slot is held for longer than its window: so a
// mark with the slot's name between start and end is ours.
func (w *window) mark(arrival stall.Instant) {
	m, slot := w.ref.m, w.ref.slot
	if slot != noSlot {
		m.windows.slots.publish(openWindow{slot: slot, held: w.start, start: w.start, arrival: arrival})
		trace.Log(context.Background(), m.windows.slots.begin[slot], "")
	}
}

// end closes the window, which had that ref, and leaves it to be resolved. It
// arrived at arrival, 0 if that is not known. While the clock is read, the cell is
// on its way from another CPU.
func (w *window) end(h *windowRef, arrival stall.Instant) {
	m := h.m
	if h.slot != noSlot || m.exact.marking() {
		w.endMarked(h, arrival)
		return
	}
	name := askName(w.span)
	if b, i := m.windows.pending.reserve(); b != nil { // nearly always
		c := &b.cells[i]
		c.fill(w.start, arrival, w.start, name.spanIDs)
		c.publish(m.now.instant(), tagOf(noSlot, h.route, name.flags))
	}
}

// endMarked closes a window that has a slot, or gives it one for its end. That a
// window has ended we know without a mark: it is for others who read the trace.
func (w *window) endMarked(h *windowRef, arrival stall.Instant) {
	m, slot, name := h.m, h.slot, askName(w.span)
	marking, held := m.exact.marking(), w.start
	mark := marking && m.exact.shared()
	if !m.windows.slots.claim(slot, held) {
		slot = noSlot // it never had one, or another window has it by now
		if marking {
			// A window older than the slice finds its goroutine by its end.
			slot, held = m.lateSlot(held)
			mark = true
		}
	}
	if mark && slot != noSlot {
		trace.Log(context.Background(), m.windows.slots.end[slot], "")
	}
	w.close(h, slot, arrival, held, name)
}

// endAnywhere closes the window from any goroutine.
func (w *window) endAnywhere(h *windowRef) {
	m, slot, name := h.m, h.slot, askName(w.span)
	if !m.windows.slots.claim(slot, w.start) {
		slot = noSlot
	} else if m.exact.marking() && m.exact.shared() {
		trace.Log(context.Background(), m.windows.slots.over[slot], "")
	}
	w.close(h, slot, 0, w.start, name)
}

// close gives the slot back, which is claimed, and queues the window.
func (w *window) close(h *windowRef, slot int16, arrival, held stall.Instant, name spanName) {
	m := h.m
	b, i := m.windows.pending.reserve()
	end := m.now.instant()
	if slot != noSlot {
		m.windows.slots.give(slot, end)
	}
	if b != nil {
		c := &b.cells[i]
		c.fill(w.start, arrival, held, name.spanIDs)
		c.publish(end, tagOf(slot, h.route, name.flags))
	}
}

// lateSlot takes a slot for the end of a window alone, and returns since when it
// has it: start if there is none.
func (m *Monitor) lateSlot(start stall.Instant) (slot int16, held stall.Instant) {
	if slot = m.windows.slots.take(); slot == noSlot {
		m.windows.unmarked.Add(1)
		return noSlot, start
	}
	m.windows.slots.turn[slot].Add(1)
	return slot, m.now.instant()
}
