package otelgc

import (
	"context"
	"log/slog"
	"slices"
	"time"

	oteltrace "go.opentelemetry.io/otel/trace"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/resolve"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/semconv"
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
// counted. A logger that blocks delays nothing but itself. Package otelgc/capture keeps
// such requests in files; then the sentence has the path of the page as capture.
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
	sentence, trace, span, route, capture string
	fidelity                              stall.Fidelity
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
func (m *Monitor) conclude(e *window.Ended, w *stall.Window, s *stall.Share, pieces *resolve.Pieces) {
	if e.Tell != nil {
		m.operator.safely("window", "a function of Monitor.Resolve", func() { e.Tell(w, s) })
		return
	}
	q := telemetry.Request{
		Share: s, Collections: s.Collections, Kind: m.cycles.kind,
		Span: e.Span.Context(), Route: m.requests.routes.name(e.Route),
	}
	if e.Asked {
		m.learnSpan(q.Span.IsValid())
	}
	m.tel.Request(&q)
	if m.hooks.want(s) {
		m.show(&entry.Request{Window: w, Share: s, Pieces: pieces.List, Coarse: pieces.Coarse, Route: q.Route, Span: q.Span})
	}
}

// want reports whether a hook is to see a request.
func (h *hooks) want(s *stall.Share) bool {
	if h.onWindow != nil || h.slow.is(s) || h.onSlow.is(s) || h.observers.Load() != nil {
		return true
	}
	c := h.capturer.Load()
	return c != nil && s.Total >= (*c).Least()
}

// showFrom returns how long a request takes that a hook is told of with its span,
// [askFrom] at most.
func (h *hooks) showFrom() time.Duration {
	from := askFrom
	if h.slow.on {
		from = min(from, h.slow.least)
	}
	if h.onSlow.call != nil {
		from = min(from, h.onSlow.least)
	}
	return from
}

// show has the hooks see a request.
func (m *Monitor) show(r *entry.Request) {
	w, s := r.Window, r.Share
	if c := m.hooks.capturer.Load(); c != nil && s.Total >= (*c).Least() {
		r.Captured = new(entry.Captured)
		m.capture(*c, r)
	} else if m.hooks.slow.is(s) {
		m.explainSlow(r, m.sentence(r))
	}
	if m.hooks.onWindow != nil {
		m.operator.safely("on_window", "the function of WithOnWindow", func() { m.hooks.onWindow(w, s) })
	}
	if h := &m.hooks.onSlow; h.is(s) {
		m.operator.safely("on_slow_request", "the function of WithOnSlowRequest", func() {
			h.call(&SlowRequest{Window: w, Share: s, Pieces: r.Pieces, Coarse: r.Coarse, Route: r.Route, Span: r.Span})
		})
	}
	if list := m.hooks.observers.Load(); list != nil {
		for _, o := range *list {
			o.See(r)
		}
	}
}

// SlowRequest is a request that took long, with what had its time when.
type SlowRequest struct {
	Window *stall.Window
	Share  *stall.Share
	// Pieces are the stretches of the window in order, each with its part of Share: at
	// most 2048, and nil if there are none to be had.
	Pieces []stall.Piece
	// Coarse says that there would have been more pieces: short ones are summed up, each
	// stretch of them under the part that has most of it.
	Coarse bool
	Route  string                // empty if not known
	Span   oteltrace.SpanContext // not valid if not known
}

// slowHook calls the user's function for requests that took long.
type slowHook struct {
	least time.Duration
	call  func(*SlowRequest)
}

// wantsPieces reports whether somebody wants the pieces of a window that took so long and
// ended at a time.
func (h *hooks) wantsPieces(took time.Duration, at stall.Instant) bool {
	if h.onSlow.call != nil && took >= h.onSlow.least {
		return true
	}
	if c := h.capturer.Load(); c != nil && took >= (*c).Least() {
		return true
	}
	if list := h.observers.Load(); list != nil {
		for _, o := range *list {
			if o.WantsPieces(took, at) {
				return true
			}
		}
	}
	return false
}

func (h *slowHook) is(s *stall.Share) bool { return h.call != nil && s.Total >= h.least }

// WithOnSlowRequest calls f for each request that took at least d, from its arrival where
// that is known, with what had its time piece by piece. It is called as the function of
// [WithOnWindow] is, and must not keep its argument, nor what is in it.
func WithOnSlowRequest(d time.Duration, f func(*SlowRequest)) Option {
	return optionFunc(func(c config) config { c.onSlow = slowHook{max(d, 1), f}; return c })
}

// sentence returns where the time of a request went.
func (m *Monitor) sentence(r *entry.Request) string {
	sentence := r.Share.Explain()
	if r.Share.Charged[stall.GCPause] > 0 {
		sentence += m.records.slowed(r.Window.Extent())
	}
	return sentence
}

// explainSlow explains a slow request, of which it is known what became of its capture.
func (m *Monitor) explainSlow(r *entry.Request, sentence string) {
	path, why := r.Captured.Get()
	source := stall.GCWatch
	if r.Share.Fidelity == stall.Exact {
		source = stall.GoTrace
	}
	slow := semconv.Slow{
		Route: r.Route, Share: r.Share, Collections: r.Share.Collections, Sentence: sentence,
		Capture: path, NotCaptured: why,
	}
	if r.Span.IsValid() {
		slow.TraceID, slow.SpanID = r.Span.TraceID().String(), r.Span.SpanID().String()
	}
	m.tel.Slow(&slow, r.Span, r.Window, source)
	m.hooks.explaining.Lock()
	defer m.hooks.explaining.Unlock()
	if m.hooks.slow.started() && !m.hooks.slow.offer(&slow) {
		m.tel.Dropped("slow_request", "rate_limit", 1)
	}
}

// capture has a slow request kept, or says why it is not.
func (m *Monitor) capture(c entry.Capturer, r *entry.Request) {
	sentence, explained := m.sentence(r), m.hooks.slow.is(r.Share)
	why := notTraced
	traced := m.exact.Store.Raw(r.Window.Extent(), func(bytes int) bool {
		why = c.Admit(bytes)
		return why == ""
	})
	if why != "" {
		if why != notTraced {
			m.tel.Dropped("capture", why, 1)
		}
		r.Captured.Set("", why)
		if explained {
			m.explainSlow(r, sentence)
		}
		return
	}
	w, share := *r.Window, *r.Share
	kept := &entry.Slow{Request: *r, Sentence: sentence, Trace: traced.Parts, Traced: traced.Span}
	kept.Window, kept.Share, kept.Pieces = &w, &share, slices.Clone(r.Pieces)
	if m.machine.board.Open() {
		kept.Gaps = m.machine.board.Log.Intervals([]stall.Interval{}, w.Extent())
	}
	c.Keep(kept, func(path, why string) {
		if why != "" {
			m.tel.Dropped("capture", why, 1)
		}
		kept.Captured.Set(path, why)
		if explained {
			m.explainSlow(&kept.Request, sentence)
		}
	})
}

// notTraced is why a request has no capture whose time lies outside of the slices. That
// is no loss: most of the time is not traced.
const notTraced = "not_traced"

// maxBurst is how many sentences may go out at once: windows resolve in batches,
// so a second's worth comes at one instant.
const maxBurst = 10

// offer reports false if the sentence is over the rate, or there is no room for it.
func (r *slowRequests) offer(s *semconv.Slow) bool {
	now := time.Now()
	r.burst = min(maxBurst, r.burst+float64(now.Sub(r.filled))/float64(slowEvery))
	r.filled = now
	if r.burst < 1 {
		return false
	}
	if !r.asyncCall.offer(slowRequest{s.Sentence, s.TraceID, s.SpanID, s.Route, s.Capture, s.Share.Fidelity}) {
		return false
	}
	r.burst--
	return true
}

func (q *slowRequest) log(to *slog.Logger) {
	attrs := make([]slog.Attr, 0, 5)
	for _, a := range [...]struct{ key, value string }{
		{"route", q.route}, {"trace_id", q.trace}, {"span_id", q.span}, {"fidelity", q.fidelity.String()}, {"capture", q.capture},
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
