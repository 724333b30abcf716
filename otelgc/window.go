package otelgc

import (
	"context"
	"runtime/trace"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// openWindow is one open window. It lives on the stack of its opener. It has four
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

// begin opens the window.
func (w *openWindow) begin(m *Monitor) {
	w.ref = &m.windows.outside
	if m.path.marking.Load() {
		if slot := m.windows.Slots.Take(); slot != window.NoSlot {
			w.ref = &m.windows.refs[slot]
		}
	}
	w.start = m.path.now()
}

// mark says in the trace on which goroutine the window is, if it has a slot. The
// marks lie inside the window, and a slot is held for longer than its window: so a
// mark with the slot's name between start and end is ours.
func (w *openWindow) mark(arrival stall.Instant) {
	m, slot := w.ref.m, w.ref.slot
	if slot != window.NoSlot {
		m.windows.Slots.Publish(window.Open{Slot: slot, Held: w.start, Start: w.start, Arrival: arrival})
		trace.Log(context.Background(), m.windows.Slots.Begin[slot], "")
	}
}

// end closes the window, which had that ref, and leaves it to be resolved. It
// arrived at arrival, 0 if that is not known. Asked is as in [path.leave].
func (w *openWindow) end(h *windowRef, arrival stall.Instant, name window.SpanName, asked uint64) {
	m := h.m
	if h.slot != window.NoSlot || m.path.marking.Load() {
		w.endMarked(h, arrival, name, asked)
		return
	}
	m.path.leave(w.start, m.path.now(), arrival, h.route, name, asked)
}

// endMarked closes a window that has a slot, or gives it one for its end. The mark of the
// end is for other readers of the trace: the monitor knows without it.
func (w *openWindow) endMarked(h *windowRef, arrival stall.Instant, name window.SpanName, asked uint64) {
	m, slot := h.m, h.slot
	marking, held := m.path.marking.Load(), w.start
	mark := marking && m.exact.Shared()
	if !m.windows.Slots.Claim(slot, held) {
		slot = window.NoSlot // it never had one, or another window has it by now
		if marking {
			// A window older than the slice finds its goroutine by its end.
			slot, held = m.lateSlot(held)
			mark = true
		}
	}
	if mark && slot != window.NoSlot {
		trace.Log(context.Background(), m.windows.Slots.End[slot], "")
	}
	w.close(h, slot, arrival, held, name, asked)
}

// endAnywhere closes the window from any goroutine.
func (w *openWindow) endAnywhere(h *windowRef) {
	m, slot, name := h.m, h.slot, window.NameOf(w.span)
	if !m.windows.Slots.Claim(slot, w.start) {
		slot = window.NoSlot
	} else if m.path.marking.Load() && m.exact.Shared() {
		trace.Log(context.Background(), m.windows.Slots.Over[slot], "")
	}
	w.close(h, slot, 0, w.start, name, 0)
}

// close gives the slot back, which is claimed, and queues the window.
func (w *openWindow) close(h *windowRef, slot int16, arrival, held stall.Instant, name window.SpanName, asked uint64) {
	m := h.m
	b, i := m.path.ended.Reserve()
	end := m.path.now()
	if slot != window.NoSlot {
		m.windows.Slots.Give(slot, end)
	}
	if b != nil {
		c := b.Cell(i)
		c.Fill(w.start, arrival, held, name.SpanIDs)
		c.Publish(end, window.Tag(slot, h.route, name.Flags)|asked)
	}
}

// lateSlot takes a slot for the end of a window alone, and returns since when it
// has it: start if there is none.
func (m *Monitor) lateSlot(start stall.Instant) (slot int16, held stall.Instant) {
	if slot = m.windows.Slots.TakeForEnd(); slot == window.NoSlot {
		m.windows.unmarked.Add(1)
		return window.NoSlot, start
	}
	return slot, m.path.now()
}

// Window is the time of one piece of work: a message of a queue, a run of a cron
// job, anything that is no HTTP request. [Monitor.Begin] opens it and
// [Window.End] closes it. It is a value of the stack:
//
//	w := m.Begin(ctx)
//	defer w.End()
//
// Begin belongs on the goroutine that does the work, for its states are what exact
// fidelity follows. Windows that lie within each other, of one goroutine or
// of a request and what Begin opens in its handler, are each counted: what stalls both
// counts twice in otelgc.request.*. Do not copy a Window that has begun: the copy
// would end as a window of its own. go vet finds copies. The zero Window is over.
type Window struct {
	_ noCopy
	w openWindow // over if it has no ref
}

// noCopy has go vet find copies (cmd/vet, copylocks). It takes no memory.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// Begin opens a window on the calling goroutine. It takes the span of ctx, for
// exemplars, which it holds until End, and nothing else of ctx. It does not
// allocate.
func (m *Monitor) Begin(ctx context.Context) Window {
	if m == nil {
		return Window{}
	}
	span := oteltrace.SpanFromContext(ctx)
	if m.path.marking.Load() {
		return m.beginMarked(span)
	}
	return Window{w: openWindow{&m.windows.outside, m.path.now(), span}}
}

func (m *Monitor) beginMarked(span oteltrace.Span) (w Window) {
	w.w.span = span
	w.w.begin(m)
	w.w.mark(0)
	return
}

// End closes the window, from any goroutine; it counts as one request. A second End
// does nothing. A window that is older than the slice of exact tracing in which it
// ends was not followed.
func (w *Window) End() {
	if h := w.w.ref; h != nil {
		w.w.ref = nil
		w.w.endAnywhere(h)
		w.w.span = nil
	}
}

// SetRoute names the kind of the work, for the attribute http.route of the
// window's metrics. Names are bounded in number as those of [WithRoute] are. It
// is to be called before End.
func (w *Window) SetRoute(name string) {
	if h := w.w.ref; h != nil {
		w.w.ref = h.on(h.m.requests.routes.id(name))
	}
}
