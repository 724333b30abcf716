package otelgc

import (
	"context"
	"runtime/trace"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// openWindow is one open window. It lives on the stack of who opened it. It has four
// words: one more, and the compiler would copy it through memory, which costs as
// much as a lock.
type openWindow struct {
	ref   *windowRef
	start stall.Instant
	span  oteltrace.Span
}

// windowRef is where a window lies: in a monitor, and in a slot of its or in none. It
// is never changed.
type windowRef struct {
	m     *Monitor
	slot  int16
	route window.Route
}

// on returns the same place for windows of a route.
func (h *windowRef) on(route window.Route) *windowRef {
	if h.route == route {
		return h
	}
	if h.slot == window.NoSlot {
		return h.m.requests.routes.ref(h.m, route)
	}
	return &windowRef{h.m, h.slot, route}
}

// begin opens the window. Who has more to say of it does so before it is marked.
func (w *openWindow) begin(m *Monitor) {
	w.ref = &m.windows.outside
	if m.exact.marking() {
		if slot := m.windows.slots.Take(); slot != window.NoSlot {
			w.ref = &m.windows.refs[slot]
		}
	}
	w.start = m.now.instant()
}

// mark says in the trace on which goroutine the window is, if it has a slot. The
// marks lie inside the window, and a slot is held for longer than its window: so a
// mark with the slot's name between start and end is ours.
func (w *openWindow) mark(arrival stall.Instant) {
	m, slot := w.ref.m, w.ref.slot
	if slot != window.NoSlot {
		m.windows.slots.Publish(window.Open{Slot: slot, Held: w.start, Start: w.start, Arrival: arrival})
		trace.Log(context.Background(), m.windows.slots.Begin[slot], "")
	}
}

// end closes the window, which had that ref, and leaves it to be resolved. It
// arrived at arrival, 0 if that is not known. While the clock is read, the cell is
// on its way from another CPU.
func (w *openWindow) end(h *windowRef, arrival stall.Instant) {
	m := h.m
	if h.slot != window.NoSlot || m.exact.marking() {
		w.endMarked(h, arrival)
		return
	}
	name := window.NameOf(w.span)
	if b, i := m.windows.pending.Reserve(); b != nil { // nearly always
		c := b.Cell(i)
		c.Fill(w.start, arrival, w.start, name.SpanIDs)
		c.Publish(m.now.instant(), window.Tag(window.NoSlot, h.route, name.Flags))
	}
}

// endMarked closes a window that has a slot, or gives it one for its end. That a
// window has ended we know without a mark: it is for others who read the trace.
func (w *openWindow) endMarked(h *windowRef, arrival stall.Instant) {
	m, slot, name := h.m, h.slot, window.NameOf(w.span)
	marking, held := m.exact.marking(), w.start
	mark := marking && m.exact.shared()
	if !m.windows.slots.Claim(slot, held) {
		slot = window.NoSlot // it never had one, or another window has it by now
		if marking {
			// A window older than the slice finds its goroutine by its end.
			slot, held = m.lateSlot(held)
			mark = true
		}
	}
	if mark && slot != window.NoSlot {
		trace.Log(context.Background(), m.windows.slots.End[slot], "")
	}
	w.close(h, slot, arrival, held, name)
}

// endAnywhere closes the window from any goroutine.
func (w *openWindow) endAnywhere(h *windowRef) {
	m, slot, name := h.m, h.slot, window.NameOf(w.span)
	if !m.windows.slots.Claim(slot, w.start) {
		slot = window.NoSlot
	} else if m.exact.marking() && m.exact.shared() {
		trace.Log(context.Background(), m.windows.slots.Over[slot], "")
	}
	w.close(h, slot, 0, w.start, name)
}

// close gives the slot back, which is claimed, and queues the window.
func (w *openWindow) close(h *windowRef, slot int16, arrival, held stall.Instant, name window.SpanName) {
	m := h.m
	b, i := m.windows.pending.Reserve()
	end := m.now.instant()
	if slot != window.NoSlot {
		m.windows.slots.Give(slot, end)
	}
	if b != nil {
		c := b.Cell(i)
		c.Fill(w.start, arrival, held, name.SpanIDs)
		c.Publish(end, window.Tag(slot, h.route, name.Flags))
	}
}

// lateSlot takes a slot for the end of a window alone, and returns since when it
// has it: start if there is none.
func (m *Monitor) lateSlot(start stall.Instant) (slot int16, held stall.Instant) {
	if slot = m.windows.slots.TakeForEnd(); slot == window.NoSlot {
		m.windows.unmarked.Add(1)
		return window.NoSlot, start
	}
	return slot, m.now.instant()
}
