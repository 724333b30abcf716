package otelgc

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

// Middleware returns a handler that measures a window around each request of
// next. It touches neither the request, but for [WithJoinableRequests], nor the
// response, so it can stand inside or outside of other middleware. Outermost it
// sees most; inside of the one that makes the span, the window knows its span,
// for exemplars and for the trace id of a slow request.
//
// After a thousand requests in a row without a span, Middleware looks for the span of a
// request only if it took a millisecond, or less than that if a hook calls it slow; if a
// slice is traced; and of one in 64 of the others. The rest has no exemplars. The first
// span that is found ends this. With otelgc/page or otelgc/capture all are looked for.
//
// The window ends when next returns or panics. What net/http does after that,
// the flush of the last bytes, is not in it, nor is what a hijacked connection
// does later.
func (m *Monitor) Middleware(next http.Handler) http.Handler {
	if m == nil {
		return next
	}
	p := m.path
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if p.marking.Load() || p.arrives.Load() {
			m.serve(next, rw, r)
			return
		}
		defer p.served(r.Context(), m, r, p.now()) // nearly always
		next.ServeHTTP(rw, r)
	})
}

// serve has next serve a request that is to be followed, or whose arrival may be known.
func (m *Monitor) serve(next http.Handler, rw http.ResponseWriter, r *http.Request) {
	var w openWindow
	w.begin(m)
	ctx, arrival := r.Context(), m.arrivalOf(r, w.start)
	w.mark(arrival)
	if m.requests.joinable && w.ref.slot != window.NoSlot {
		inner := r.WithContext(w.context(ctx))
		defer passBack(r, inner)
		r = inner
	}
	defer func() {
		route, begin := m.routeOf(r), w.start
		if arrival != 0 {
			begin = arrival
		}
		name, asked := m.spanOf(ctx, begin, m.path.now())
		w.end(w.ref.on(route), arrival, name, asked)
	}()
	next.ServeHTTP(rw, r)
}

// passBack notes in the outer request what was set in the handler's copy: by a mux the
// pattern, and by ParseMultipartForm the files that it made, which net/http removes
// when the request is over.
func passBack(outer, inner *http.Request) {
	outer.Pattern, outer.MultipartForm = inner.Pattern, inner.MultipartForm
}

// arrivalOf returns when a request arrived, or zero. That the connection has had
// its first request is noted though a header says it better.
func (m *Monitor) arrivalOf(r *http.Request, start stall.Instant) stall.Instant {
	accepted := m.acceptedAt(r, start)
	at, fault := m.requests.arrival.of(r.Header, start, m.wallOffset())
	if fault != noFault {
		m.requests.ignored[fault].Add(1)
	}
	return cmp.Or(at, accepted)
}

const (
	noRoute window.Route = iota
	otherRoute
	firstRoute
)

// maxRouteNames bounds the names of routes of slow requests; the metrics have fewer,
// see telemetry.MaxRoutes.
const maxRouteNames = 256

// routes are the names of routes that were seen, at most maxRouteNames. What is
// kept for the windows of each is made once.
type routes struct {
	known atomic.Pointer[routeTable]
	mu    sync.Mutex // held to change known
	refs  [firstRoute + maxRouteNames]atomic.Pointer[windowRef]
}

// routeTable is never changed.
type routeTable struct {
	ids   map[string]window.Route
	names []string // from firstRoute on
}

// id returns what stands for name: otherRoute if there are too many, or it is too
// long.
func (r *routes) id(name string) window.Route {
	if name == "" {
		return noRoute
	}
	t := r.known.Load()
	if t != nil {
		if id, ok := t.ids[name]; ok {
			return id
		}
	}
	if len(name) > telemetry.MaxRouteLength || t != nil && len(t.names) >= maxRouteNames {
		return otherRoute
	}
	return r.add(name)
}

func (r *routes) add(name string) window.Route {
	r.mu.Lock()
	defer r.mu.Unlock()
	var now routeTable
	if t := r.known.Load(); t != nil {
		now = *t
	}
	if id, ok := now.ids[name]; ok {
		return id
	}
	if len(now.names) >= maxRouteNames {
		return otherRoute
	}
	name, id := strings.Clone(name), firstRoute+window.Route(len(now.names))
	valid := strings.ToValidUTF8(name, "\uFFFD") // or else no exporter sends it
	now.ids = maps.Clone(now.ids)
	if now.ids == nil {
		now.ids = map[string]window.Route{telemetry.OtherRoute: otherRoute}
	}
	now.ids[name] = id
	now.names = append(now.names[:len(now.names):len(now.names)], valid)
	r.known.Store(&now)
	return id
}

// name returns the name that id stands for.
func (r *routes) name(id window.Route) string {
	switch id {
	case noRoute:
		return ""
	case otherRoute:
		return telemetry.OtherRoute
	}
	return r.known.Load().names[id-firstRoute]
}

// ref returns where windows of a route lie that have no slot.
func (r *routes) ref(m *Monitor, id window.Route) *windowRef {
	h := r.refs[id].Load()
	if h == nil {
		h = &windowRef{m, window.NoSlot, id}
		r.refs[id].Store(h)
	}
	return h
}

// WithRoute has f name the route of each request of [Monitor.Middleware], for
// the attribute http.route of the request metrics. It is called after the
// handler, when http.ServeMux has set r.Pattern:
//
//	otelgc.WithRoute(func(r *http.Request) string { return r.Pattern })
//
// It works where no handler in between has replaced the request (WithContext
// makes a copy, and the pattern is set on the copy). What stands before the path,
// as the method and the host in a pattern, is cut off: http.route is the template of
// the path alone (semantic conventions, registry of http), and joins with what other
// instrumentation says of it. The first 20 routes are kept apart and all further
// ones are "other"; a panic of f leaves the request without a route, counted.
func WithRoute(f func(r *http.Request) string) Option {
	return optionFunc(func(c config) config { c.route = f; return c })
}

// routeOf returns the route of r, none without a namer.
func (m *Monitor) routeOf(r *http.Request) (route window.Route) {
	if m.path.route == nil {
		return noRoute
	}
	m.operator.safely("route", "the function of WithRoute", func() { route = m.requests.routes.id(template(m.path.route(r))) })
	return route
}

// template cuts off what stands before the path of a route.
func template(route string) string {
	if path := strings.IndexByte(route, '/'); path > 0 {
		return route[path:]
	}
	return route
}

// ArrivalFormat is how a header gives the time at which a request arrived.
type ArrivalFormat uint8

const (
	// ArrivalMonotonic is CLOCK_MONOTONIC in nanoseconds, as [stall.Instant].
	ArrivalMonotonic ArrivalFormat = iota
	// ArrivalUnixSeconds is wall time in seconds with a fraction, with or
	// without "t=" before it, as nginx's $msec and many load balancers'
	// X-Request-Start.
	ArrivalUnixSeconds
	// ArrivalUnixMillis is wall time in whole milliseconds, "t=" as above.
	ArrivalUnixMillis
	// ArrivalUnixMicros is wall time in whole microseconds, "t=" as above.
	ArrivalUnixMicros
)

// maxArrivalAge is how long before the handler an arrival may lie: what is
// older is another clock, not a queue.
const maxArrivalAge = 10 * time.Second

// maxArrivalText bounds the header that is parsed: more digits say nothing more.
const maxArrivalText = 40

// maxWallSeconds is the last whole second that Unix nanoseconds can hold.
const maxWallSeconds = math.MaxInt64 / int64(time.Second)

// WithArrivalHeader reads from the named header when the request arrived, so
// that a stall between arrival and handler is seen. Off without it. A header
// that cannot be parsed, that has several values, that lies after the handler's
// start or more than ten seconds before it is ignored, and counted in
// otelgc.monitor.dropped (arrival). Have a proxy that you run set it, on a clock that
// you trust, and replace what the client sent: with a value of a client's own a
// request seems to have waited for up to ten seconds.
func WithArrivalHeader(name string, format ArrivalFormat) Option {
	return optionFunc(func(c config) config {
		c.arrival = arrivalHeader{name: http.CanonicalHeaderKey(name), format: format}
		return c
	})
}

type arrivalHeader struct {
	name   string
	format ArrivalFormat
}

func (a arrivalHeader) check() error {
	if a.format > ArrivalUnixMicros {
		return fmt.Errorf("arrival header %q: no such format %d", a.name, a.format)
	}
	return nil
}

// arrivalFault says why what a header says is ignored.
type arrivalFault uint8

const (
	noFault      arrivalFault = iota
	notParsed                 // by the format that was named
	notPlausible              // after the handler's start, or too long before it
	notOne                    // several values: a client sent one of them
	arrivalFaults
)

// of returns the arrival of a request whose handler started at start, or zero and
// why, if there is a header. wall is the offset of wall time in force.
func (a arrivalHeader) of(h http.Header, start stall.Instant, wall time.Duration) (stall.Instant, arrivalFault) {
	if a.name == "" {
		return 0, noFault
	}
	v := h[a.name]
	if len(v) == 0 {
		return 0, noFault
	}
	if len(v) > 1 || strings.Contains(v[0], ",") {
		return 0, notOne
	}
	if len(v[0]) > maxArrivalText {
		return 0, notParsed
	}
	at, ok := a.parse(v[0], wall)
	switch {
	case !ok:
		return 0, notParsed
	case at <= 0 || at > start || at < start.Add(-maxArrivalAge):
		return 0, notPlausible
	}
	return at, noFault
}

func (a arrivalHeader) parse(s string, wall time.Duration) (stall.Instant, bool) {
	if a.format != ArrivalMonotonic {
		s = strings.TrimPrefix(s, "t=")
	}
	// No proxy writes a sign, an exponent or a hexadecimal number, which strconv takes.
	if strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	if a.format == ArrivalMonotonic {
		n, err := strconv.ParseInt(s, 10, 64)
		return stall.Instant(n), err == nil && n > 0
	}
	unit := int64(time.Millisecond)
	switch a.format {
	case ArrivalUnixSeconds:
		f, err := strconv.ParseFloat(s, 64)
		if err != nil || !(f > 0 && f < float64(maxWallSeconds)) {
			return 0, false
		}
		whole := int64(f)
		ns := whole*1e9 + int64((f-float64(whole))*1e9)
		return stall.Instant(ns - int64(wall)), true
	case ArrivalUnixMicros:
		unit = int64(time.Microsecond)
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 || n > int64(1<<62)/unit {
		return 0, false
	}
	return stall.Instant(n*unit - int64(wall)), true
}

// maxFresh bounds the connections that wait for their first request; those over
// it have no arrival.
const maxFresh = 1 << 14

// AcceptArrivals has the first request of each connection of srv arrive when the
// connection was accepted, so that a stall between that and its handler is seen.
// It sets srv.ConnContext and srv.ConnState, and calls those that srv has; call
// it before srv serves. Further requests of a connection have no arrival by it:
// when their bytes came is not known. A header ([WithArrivalHeader]) goes before.
//
// What lies between is more than waiting in this process: the TLS handshake, the
// network, and the time until the client sends what it connected for, which all
// count as queue where no stall covers them. So it is for clients that connect,
// ask at once and close, such as a load balancer that keeps no connections; not
// for browsers and pools, which connect ahead. A request that comes more than ten
// seconds after its connection has no arrival. What the kernel held before the
// server's loop accepted is not in it.
func (m *Monitor) AcceptArrivals(srv *http.Server) {
	if m == nil {
		return
	}
	m.requests.accepting.Store(true)
	m.path.arrives.Store(true)
	fresh := freshConns{of: make(map[net.Conn]*fresh)}
	ownContext, ownState := srv.ConnContext, srv.ConnState
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		f := fresh.add(c, m.here.clock.Now())
		if ownContext != nil {
			ctx = ownContext(ctx, c)
		}
		if f == nil {
			return ctx
		}
		return context.WithValue(ctx, freshKey{}, f)
	}
	srv.ConnState = func(c net.Conn, s http.ConnState) {
		if s == http.StateIdle || s == http.StateHijacked || s == http.StateClosed {
			fresh.spend(c)
		}
		if ownState != nil {
			ownState(c, s)
		}
	}
}

type freshKey struct{}

// fresh is a connection that has had no request yet.
type fresh struct {
	accepted stall.Instant
	spent    atomic.Bool
}

// freshConns are the connections of one server that have had no request yet.
type freshConns struct {
	mu sync.Mutex
	of map[net.Conn]*fresh
}

func (l *freshConns) add(c net.Conn, now stall.Instant) *fresh {
	if !reflect.ValueOf(c).Comparable() {
		return nil // a struct of some listener's own, that no map can hold
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.of) >= maxFresh {
		return nil
	}
	f := &fresh{accepted: now}
	l.of[c] = f
	return f
}

// spend says that the first request of c is over, be it one of a handler that is
// not measured.
func (l *freshConns) spend(c net.Conn) {
	if !reflect.ValueOf(c).Comparable() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.of[c]; f != nil {
		f.spent.Store(true)
		delete(l.of, c)
	}
}

// acceptedAt returns when the connection of a request whose handler started at
// start was accepted, if the request is its first, or zero.
func (m *Monitor) acceptedAt(r *http.Request, start stall.Instant) stall.Instant {
	if !m.requests.accepting.Load() {
		return 0
	}
	f, ok := r.Context().Value(freshKey{}).(*fresh)
	if !ok || !f.spent.CompareAndSwap(false, true) || f.accepted < start.Add(-maxArrivalAge) {
		return 0
	}
	return min(f.accepted, start)
}
