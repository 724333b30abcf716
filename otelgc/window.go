package otelgc

import (
	"cmp"
	"context"
	"runtime/trace"
	"slices"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/internal/gotrace"
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

// mark is what a user log of ours says of the window that has a slot.
type mark struct {
	at        stall.Instant
	goroutine uint64
	slot      int16
	kind      gotrace.WindowMark
}

// appendMarks reads the marks of windows among those of a trace.
func appendMarks(to []mark, marks []gotrace.Mark) []mark {
	to = slices.Grow(to, len(marks))
	for i := range marks {
		m := &marks[i]
		if kind, slot, ok := gotrace.ParseWindowMark(m.Key); ok {
			to = append(to, mark{m.At, m.Goroutine, slot, kind})
		}
	}
	return to
}

// ofChild reports whether the mark is of a goroutine that joined a window.
func (m *mark) ofChild() bool {
	return m.kind == gotrace.WindowJoin || m.kind == gotrace.WindowLeave
}

// slotMarks are the marks of one generation.
type slotMarks struct {
	all    []mark                   // by time, until the generation is compacted
	own    bySlot                   // where windows began or ended on their goroutines
	joins  bySlot                   // where child goroutines joined and left
	joined map[uint64]stall.Instant // when a goroutine first joined a window, whichever
}

// learn takes in the marks of a generation, which are by time.
func (s *slotMarks) learn(marks []gotrace.Mark) {
	s.all = appendMarks(s.all[:0], marks)
	s.own.learn(s.all, func(m *mark) bool { return m.kind == gotrace.WindowBegin || m.kind == gotrace.WindowEnd })
	s.joins.learn(s.all, (*mark).ofChild)
	clear(s.joined)
	for i := range slices.Backward(s.all) {
		if m := &s.all[i]; m.kind == gotrace.WindowJoin {
			if s.joined == nil {
				s.joined = make(map[uint64]stall.Instant)
			}
			s.joined[m.goroutine] = m.at // those of before come after
		}
	}
}

// bySlot holds marks by slot, and by time within one.
type bySlot struct {
	list []mark
	ends [window.SlotCount + 1]int32 // in list, of slot i at i+1
}

// learn sorts by counting: there may be a hundred thousand marks in a second.
func (s *bySlot) learn(marks []mark, wanted func(*mark) bool) {
	clear(s.ends[:])
	n := 0
	for i := range marks {
		if m := &marks[i]; wanted(m) {
			s.ends[m.slot+1]++
			n++
		}
	}
	for i := range window.SlotCount {
		s.ends[i+1] += s.ends[i]
	}
	s.list = slices.Grow(s.list[:0], n)[:n]
	for i := range marks {
		if m := &marks[i]; wanted(m) {
			s.list[s.ends[m.slot]] = *m
			s.ends[m.slot]++
		}
	}
	copy(s.ends[1:], s.ends[:window.SlotCount])
	s.ends[0] = 0
}

// of returns the marks of a slot in a span. A window may have been over before
// it was marked, if somebody says so: there are none in that.
func (s *bySlot) of(slot int16, in stall.Span) []mark {
	if in.Empty() {
		return nil
	}
	list := s.list[s.ends[slot]:s.ends[slot+1]]
	at := func(m mark, t stall.Instant) int { return cmp.Compare(m.at, t) }
	from, _ := slices.BinarySearchFunc(list, in.Start, at)
	to, _ := slices.BinarySearchFunc(list, in.End, at)
	return list[from:to]
}

// goroutineOf returns who carried the window that held slot during in: the last
// mark in it is the window's own.
func (s *slotMarks) goroutineOf(slot int16, in stall.Span) (uint64, bool) {
	list := s.own.of(slot, stall.Span{Start: in.Start, End: in.End + 1})
	if len(list) == 0 {
		return 0, false
	}
	return list[len(list)-1].goroutine, true
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
	if m.exact.marking() {
		return m.beginMarked(span)
	}
	return Window{w: openWindow{&m.windows.outside, m.now.instant(), span}}
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
