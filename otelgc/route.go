package otelgc

import (
	"net/http"
	"strings"
)

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
func (m *Monitor) routeOf(r *http.Request) (route routeID) {
	if m.route == nil {
		return noRoute
	}
	m.panics.safely("route", "the function of WithRoute", func() { route = m.routes.id(template(m.route(r))) })
	return route
}

// template cuts off what stands before the path of a route.
func template(route string) string {
	if path := strings.IndexByte(route, '/'); path > 0 {
		return route[path:]
	}
	return route
}
