package otelgc

import (
	"context"
	"runtime/trace"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// window is one open window. It lives on the stack of who opened it.
type window struct {
	m       *Monitor
	start   stall.Instant
	arrival stall.Instant
	slot    int16
	turn    uint32 // of the slot
	about   about
}

// begin opens the window, where it lies: it is too big to be copied for nothing.
// Who has more to say of it does so before it is marked.
func (w *window) begin(m *Monitor) {
	w.m, w.slot = m, noSlot
	if m.exact.marking() {
		w.takeSlot()
	}
	w.start = m.now()
}

// now is the clock's Now for the path of a request: without a copy of the clock,
// which is an eighth of what a reading costs.
func (m *Monitor) now() stall.Instant { return m.epoch.Add(time.Since(m.base)) }

// mark says in the trace on which goroutine the window is, if it has a slot.
func (w *window) mark() {
	if w.slot != noSlot {
		w.markBegin()
	}
}

// markBegin marks the begin. The marks lie inside the window, and a slot is held
// for longer than its window: so a mark with the slot's name between start and
// end is ours.
func (w *window) markBegin() {
	w.m.slots.publish(openWindow{slot: w.slot, held: w.start, start: w.start, arrival: w.arrival})
	trace.Log(context.Background(), w.m.slots.begin[w.slot], "")
}

// end closes the window and leaves it to be resolved.
func (w *window) end() {
	if m := w.m; w.slot == noSlot && !m.exact.marking() {
		m.pending.end(w, m.now(), w.start) // nearly always
		return
	}
	w.endMarked()
}

// endMarked closes a window that has a slot, or gives it one for its end. That a
// window has ended we know without a mark: it is for others who read the trace.
func (w *window) endMarked() {
	m := w.m
	marking, held := m.exact.marking(), w.start
	mark := marking && m.exact.shared()
	if !m.slots.claim(w.slot, w.turn) {
		w.slot = noSlot // it never had one, or another window has it by now
		if marking {
			// A window older than the slice finds its goroutine by its end.
			held, mark = w.lateSlot(), true
		}
	}
	if mark && w.slot != noSlot {
		trace.Log(context.Background(), m.slots.end[w.slot], "")
	}
	w.close(held)
}

// endAnywhere closes the window from any goroutine.
func (w *window) endAnywhere() {
	m := w.m
	if !m.slots.claim(w.slot, w.turn) {
		w.slot = noSlot
	} else if m.exact.marking() && m.exact.shared() {
		trace.Log(context.Background(), m.slots.over[w.slot], "")
	}
	w.close(w.start)
}

// close gives the slot back, which is claimed, and queues the window.
func (w *window) close(held stall.Instant) {
	m := w.m
	end := m.now()
	if w.slot != noSlot {
		m.slots.give(w.slot, end)
	}
	m.pending.end(w, end, held)
}

// lateSlot takes a slot for the end of the window alone, and returns when.
func (w *window) lateSlot() (held stall.Instant) {
	if w.takeSlot(); w.slot == noSlot {
		w.m.unmarked.Add(1)
		return w.start
	}
	w.m.slots.claim(w.slot, w.turn)
	return w.m.now()
}

func (w *window) takeSlot() {
	if w.slot = w.m.slots.take(); w.slot != noSlot {
		w.turn = w.m.slots.turn[w.slot].Load()
	}
}
