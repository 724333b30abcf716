package otelgc

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/window"
)

const (
	noRoute window.Route = iota
	otherRoute
	firstRoute
)

// maxRouteNames bounds the names that slow requests are told with; the metrics
// tell fewer apart, see telemetry.MaxRoutes.
const maxRouteNames = 256

// routes are the names of routes that were seen, at most maxRouteNames. What is
// kept for the windows of each is made once.
type routes struct {
	known atomic.Pointer[routeTable]
	mu    sync.Mutex // of who changes known
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
// instrumentation says of it. The first 20 routes are told apart and all further
// ones are "other"; a panic of f leaves the request without a route, counted.
func WithRoute(f func(r *http.Request) string) Option {
	return optionFunc(func(c config) config { c.route = f; return c })
}

// routeOf returns the route of r, none without a namer.
func (m *Monitor) routeOf(r *http.Request) (route window.Route) {
	if m.requests.route == nil {
		return noRoute
	}
	m.panics.safely("route", "the function of WithRoute", func() { route = m.requests.routes.id(template(m.requests.route(r))) })
	return route
}

// template cuts off what stands before the path of a route.
func template(route string) string {
	if path := strings.IndexByte(route, '/'); path > 0 {
		return route[path:]
	}
	return route
}
