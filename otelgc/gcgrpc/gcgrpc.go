// Package gcgrpc measures a window around each gRPC call, as
// [otelgc.Monitor.Middleware] does for HTTP:
//
//	grpc.NewServer(grpc.StatsHandler(gcgrpc.NewServerHandler(m)))
//
// It stands beside the handlers of otelgrpc in either order: gRPC tags a call
// with all of them before the first hears of its begin, so a window knows the
// span of its call.
//
// What happens where: gRPC calls a server's handlers on the goroutine that runs
// the method, from before the message is read until after the status is
// written, so the window sees that goroutine's stalls. A stream is one window
// from its begin to its end. What gRPC does before, on the goroutine of the
// transport, is not in the window; nor is the work of goroutines that the method
// starts, unless they join it by [otelgc.Join] with a context of [Context].
//
// A call that no method answers (unimplemented) has no window.
//
// gRPC makes some 18 allocations more in each call where it has any stats.Handler; beside
// otelgrpc it makes them already. A handler of this package makes one, and with [WithRoutes]
// another while a slice is traced.
package gcgrpc

import (
	"context"

	"google.golang.org/grpc/stats"

	"github.com/otelgc/otelgc/otelgc"
)

// Option configures a handler.
type Option func(*handler)

// WithRoutes gives each call's metrics the attribute http.route with the full
// name of its method, such as "/orders.Orders/Place". The first 20 are told
// apart, see [otelgc.WithRoute].
func WithRoutes() Option { return func(h *handler) { h.routes = true } }

// NewServerHandler returns a handler for grpc.StatsHandler. Each call that the
// server answers is one window and counts as one request. With a nil Monitor it
// does nothing.
func NewServerHandler(m *otelgc.Monitor, opts ...Option) stats.Handler {
	return newHandler(m, false, opts)
}

// NewClientHandler returns a handler for grpc.WithStatsHandler. Each attempt of
// a call is one window, on the goroutine that makes the call, and counts as one
// request: it is for programs whose requests are the calls that they make. In a
// server the calls it makes lie within the calls it answers, and would count
// beside them.
//
// A stream that is ended by its context, or by the server while nobody reads it,
// ends on a goroutine of gRPC's. Its window still follows the goroutine that
// began it.
func NewClientHandler(m *otelgc.Monitor, opts ...Option) stats.Handler {
	return newHandler(m, true, opts)
}

func newHandler(m *otelgc.Monitor, client bool, opts []Option) *handler {
	h := &handler{m: m, client: client}
	for _, o := range opts {
		o(h)
	}
	return h
}

type handler struct {
	m      *otelgc.Monitor
	client bool
	routes bool
}

// callKey finds the call of a handler, as a program may have several, and that of nil
// the innermost.
type callKey struct{ h *handler }

// call is one call under way, and its context. gRPC orders Begin before End;
// nothing else touches it but the method itself, which runs in between.
type call struct {
	context.Context
	h      *handler
	method string
	window otelgc.Window
}

func (c *call) Value(key any) any {
	if k, ok := key.(callKey); ok && (k.h == nil || k.h == c.h) {
		return c
	}
	return c.Context.Value(key)
}

// Context returns a context of ctx with which goroutines that a server's method
// starts can join its call's window, by [otelgc.Join]. Ctx is the method's, and
// Context is to be called on the method's goroutine. Elsewhere than in a call,
// and while exact fidelity does not trace, it is ctx itself.
func Context(ctx context.Context) context.Context {
	if c, ok := ctx.Value(callKey{}).(*call); ok && !c.h.client {
		return c.window.Context(ctx)
	}
	return ctx
}

// TagRPC opens nothing yet: a call that no method answers never ends.
func (h *handler) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	if h.m == nil {
		return ctx
	}
	return &call{Context: ctx, h: h, method: info.FullMethodName}
}

func (h *handler) HandleRPC(ctx context.Context, s stats.RPCStats) {
	_, end := s.(*stats.End)
	if _, begin := s.(*stats.Begin); !begin && !end {
		return
	}
	c, ok := ctx.Value(callKey{h}).(*call)
	switch {
	case !ok:
	case !end:
		c.window = h.m.Begin(ctx)
		if h.routes {
			c.window.SetRoute(c.method)
		}
	default:
		c.window.End()
	}
}

// TagConn does nothing: connections have no windows.
func (*handler) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (*handler) HandleConn(context.Context, stats.ConnStats) {}
