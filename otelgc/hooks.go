package otelgc

import (
	"context"
	"log/slog"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	slowEvery = 100 * time.Millisecond
	slowQueue = 64
)

// WithSlowRequest explains each request that took at least d, from its arrival
// where that is known: as event otelgc.request.slow, and in one sentence through
// logger, at level WARN, with trace id, span id and route where they are known.
// Without a logger there is the event only.
//
// The sentence comes when the request's time has an owner, up to a few seconds
// after its end. At most about ten a second are logged; those over that are
// counted. A logger that blocks delays nothing but itself.
func WithSlowRequest(d time.Duration, logger *slog.Logger) Option {
	return optionFunc(func(c config) config {
		c.slow = slowRequests{on: true, least: d, logger: logger}
		return c
	})
}

// slowRequests logs sentences, at a bounded rate.
type slowRequests struct {
	asyncCall[slowRequest]
	on     bool
	least  time.Duration
	logger *slog.Logger

	burst  float64 // sentences that may go out at once
	filled time.Time
}

type slowRequest struct {
	sentence, trace, span, route string
	fidelity                     stall.Fidelity
}

func (r *slowRequests) is(s *stall.Share) bool { return r.on && s.Total >= r.least }

func (r *slowRequests) start(o *operator) {
	if !r.on || r.logger == nil {
		return
	}
	r.burst, r.filled = maxBurst, time.Now()
	r.asyncCall.start(slowQueue, func(q slowRequest) {
		o.safely("slow_request", "the logger of WithSlowRequest", func() { q.log(r.logger) })
	})
}

// conclude reports a window whose share is known: to the caller that asked for it, or
// as a request.
func (m *Monitor) conclude(e *window.Ended, w *stall.Window, s *stall.Share, pieces []stall.Piece) {
	if e.Tell != nil {
		m.operator.safely("window", "a function of Monitor.Resolve", func() { e.Tell(w, s) })
		return
	}
	q := telemetry.Request{
		Share: s, Collections: s.Collections, Kind: m.cycles.kind,
		Span: e.Span.Context(), Route: m.requests.routes.name(e.Route),
	}
	m.tel.Request(&q)
	if m.hooks.slow.is(s) {
		m.explainSlow(&q, w)
	}
	if m.hooks.onWindow != nil {
		m.operator.safely("on_window", "the function of WithOnWindow", func() { m.hooks.onWindow(w, s) })
	}
	if h := &m.hooks.onSlow; h.is(s) {
		m.operator.safely("on_slow_request", "the function of WithOnSlowRequest", func() {
			h.call(&SlowRequest{Window: w, Share: s, Pieces: pieces, Route: q.Route, Span: q.Span})
		})
	}
	if list := m.hooks.observers.Load(); list != nil {
		for _, o := range *list {
			o.See(&entry.Request{Window: w, Share: s, Pieces: pieces, Route: q.Route, Span: q.Span})
		}
	}
}

// SlowRequest is a request that took long, with what had its time when.
type SlowRequest struct {
	Window *stall.Window
	Share  *stall.Share
	// Pieces are the stretches of the window in order, each with its part of Share; nil if
	// there are more than 8192.
	Pieces []stall.Piece
	Route  string                // empty if not known
	Span   oteltrace.SpanContext // not valid if not known
}

// slowHook calls the user's function for requests that took long.
type slowHook struct {
	least time.Duration
	call  func(*SlowRequest)
}

// piecesFrom returns how long a window lasts at least of which pieces are wanted, 0 if
// none are.
func (h *hooks) piecesFrom() (least time.Duration) {
	if h.onSlow.call != nil {
		least = h.onSlow.least
	}
	if list := h.observers.Load(); list != nil {
		for _, o := range *list {
			if from := o.PiecesFrom(); least == 0 || from < least {
				least = from
			}
		}
	}
	return least
}

func (h *slowHook) is(s *stall.Share) bool { return h.call != nil && s.Total >= h.least }

// WithOnSlowRequest calls f for each request that took at least d, from its arrival where
// that is known, with what had its time piece by piece. It is called as the function of
// [WithOnWindow] is, and must not keep its argument, nor what is in it.
func WithOnSlowRequest(d time.Duration, f func(*SlowRequest)) Option {
	return optionFunc(func(c config) config { c.onSlow = slowHook{max(d, 1), f}; return c })
}

// explainSlow explains a slow request.
func (m *Monitor) explainSlow(q *telemetry.Request, w *stall.Window) {
	sentence := q.Share.Explain()
	if q.Share.Charged[stall.GCPause] > 0 {
		sentence += m.records.slowed(w.Extent())
	}
	source := stall.GCWatch
	if q.Share.Fidelity == stall.Exact {
		source = stall.GoTrace
	}
	m.tel.Slow(q, w, source, sentence)
	if m.hooks.slow.started() && !m.hooks.slow.offer(q, sentence) {
		m.tel.Dropped("slow_request", "rate_limit", 1)
	}
}

// maxBurst is how many sentences may go out at once: windows resolve in batches,
// so a second's worth comes at one instant.
const maxBurst = 10

// offer reports false if the sentence is over the rate, or there is no room for it.
func (r *slowRequests) offer(q *telemetry.Request, sentence string) bool {
	now := time.Now()
	r.burst = min(maxBurst, r.burst+float64(now.Sub(r.filled))/float64(slowEvery))
	r.filled = now
	if r.burst < 1 {
		return false
	}
	s := slowRequest{sentence: sentence, route: q.Route, fidelity: q.Share.Fidelity}
	if q.Span.IsValid() {
		s.trace, s.span = q.Span.TraceID().String(), q.Span.SpanID().String()
	}
	if !r.asyncCall.offer(s) {
		return false
	}
	r.burst--
	return true
}

func (q *slowRequest) log(to *slog.Logger) {
	attrs := make([]slog.Attr, 0, 4)
	for _, a := range [...]struct{ key, value string }{
		{"route", q.route}, {"trace_id", q.trace}, {"span_id", q.span}, {"fidelity", q.fidelity.String()},
	} {
		if a.value != "" {
			attrs = append(attrs, slog.String(a.key, a.value))
		}
	}
	to.LogAttrs(context.Background(), slog.LevelWarn, "slow request: "+q.sentence, attrs...)
}

const (
	hookEvery = 100 * time.Millisecond
	hookQueue = 16
)

// pauseHook calls the user's function for collections that paused for long.
type pauseHook struct {
	asyncCall[gc.Collection]
	threshold time.Duration
	call      func(gc.Collection)
	last      time.Time
}

func (h *pauseHook) start(o *operator) {
	if h.call != nil {
		h.asyncCall.start(hookQueue, func(c gc.Collection) {
			o.safely("on_pause", "the function of WithOnPause", func() { h.call(c) })
		})
	}
}

// offer reports false if a call was due and could not be made.
func (h *pauseHook) offer(c *gc.Collection) bool {
	if h.call == nil || c.PauseTotal() < h.threshold {
		return true
	}
	now := time.Now()
	if now.Sub(h.last) < hookEvery {
		return false
	}
	h.last = now
	return h.asyncCall.offer(c.Clone())
}

// asyncCall hands values to the user's own code, a hook or a logger, on a goroutine of
// its own: one that is slow, or hangs, delays nothing but itself. The zero value
// takes nothing.
type asyncCall[T any] struct {
	queue chan T
	done  chan struct{} // closed when all calls have returned
}

// start begins to call f, which does not panic, with what is offered; as many as room
// wait for it.
func (a *asyncCall[T]) start(room int, f func(T)) {
	a.queue, a.done = make(chan T, room), make(chan struct{})
	go func() {
		defer close(a.done)
		for v := range a.queue {
			f(v)
		}
	}()
}

func (a *asyncCall[T]) started() bool { return a.queue != nil }

// offer reports false if there was no room for v.
func (a *asyncCall[T]) offer(v T) bool {
	select {
	case a.queue <- v:
		return true
	default:
		return false
	}
}

// stop ends the goroutine after what is queued, waits for that until ctx ends, and
// returns how many have not begun by then. Nothing is offered from then on.
func (a *asyncCall[T]) stop(ctx context.Context) (left uint64) {
	if !a.started() {
		return 0
	}
	close(a.queue)
	select {
	case <-a.done:
	case <-ctx.Done():
	}
	return uint64(len(a.queue))
}
