package otelgc

import (
	"context"
	"runtime/trace"
	"sync/atomic"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/window"
)

type joinKey struct{}

// joinPoint names a window to child goroutines.
type joinPoint struct {
	m    *Monitor
	slot int16
	turn uint32
}

// Context returns a context with which goroutines that work for the window can
// join it, by [Join]. Outside of a slice of exact tracing it is ctx itself: they
// could not be followed.
func (w *Window) Context(ctx context.Context) context.Context {
	if w.w.ref == nil {
		return ctx
	}
	return w.w.context(ctx)
}

func (w *openWindow) context(ctx context.Context) context.Context {
	m, slot := w.ref.m, w.ref.slot
	if slot == window.NoSlot || ctx == nil { // nil is let through in a slice as it is outside
		return ctx
	}
	turn := m.windows.Slots.Turn(slot)
	if m.windows.Slots.Held(slot) != w.start {
		return ctx // another has the slot by now
	}
	return context.WithValue(ctx, joinKey{}, &joinPoint{m, slot, turn})
}

// Join says that the calling goroutine works for the window whose
// [Window.Context] ctx comes from, or whose request has ctx (see
// [WithJoinableRequests]), until leave is called on it:
//
//	go func() {
//		defer otelgc.Join(ctx)()
//		...
//	}()
//
// While the window's own goroutine is parked, what stalls a joined one is
// charged to the window in its place; of several that joined, to the first that
// is not parked itself. The first 64 count (of a window that lasts, those of each
// second or so). While there are more, what the window waits is unseen where none of
// the 64 explains it; so it is while it is not known what a joined one does. One that
// ends without leave has left; a second call of leave does nothing. Without Join only the window's own goroutine is followed, and its
// waiting for others is the program's own doing. A goroutine that began in the
// window counts from its start if it has not been parked before Join, so that
// what it waits for its first CPU is seen: call Join first. A window that is
// over, and a context without one, are joined by doing nothing.
func Join(ctx context.Context) (leave func()) {
	if ctx == nil {
		return func() {}
	}
	p, ok := ctx.Value(joinKey{}).(*joinPoint)
	if !ok || !p.m.exact.Marking() || !p.open() {
		return func() {}
	}
	if !p.join(func(key string) { trace.Log(context.Background(), key, "") }) {
		return func() {}
	}
	var left atomic.Bool
	return func() {
		// The slot may be another window's by now: that one is not left by
		// a goroutine that never joined it. And a second call leaves for
		// no other child.
		if left.Swap(true) || !p.open() {
			return
		}
		if !p.m.exact.Marking() {
			p.m.windows.Slots.Leave(p.slot)
			return
		}
		trace.Log(context.Background(), gotrace.WindowLeave.Key(p.slot), "")
	}
}

// join marks the calling goroutine. It reports false if the window had ended by then.
// The goroutine may have lost its CPU on the way, and joined another window that has
// the slot by now: it leaves that one at once.
func (p *joinPoint) join(mark func(key string)) bool {
	mark(gotrace.WindowJoin.Key(p.slot))
	if p.open() {
		return true
	}
	mark(gotrace.WindowLeave.Key(p.slot))
	return false
}

// open reports whether the window has not ended.
func (p *joinPoint) open() bool { return p.m.windows.Slots.Turn(p.slot) == p.turn }
