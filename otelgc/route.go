package otelgc

import (
	"net/http"
	"sync/atomic"
)

// WithRoute has f name the route of each request of [Monitor.Middleware], for
// the attribute http.route of the request metrics. It is called after the
// handler, when http.ServeMux has set r.Pattern:
//
//	otelgc.WithRoute(func(r *http.Request) string { return r.Pattern })
//
// It works where no handler in between has replaced the request (WithContext
// makes a copy, and the pattern is set on the copy). The first 20 routes are
// told apart and all further ones are "other"; a panic of f leaves the request
// without a route, counted.
func WithRoute(f func(r *http.Request) string) Option {
	return optionFunc(func(c config) config { c.route = f; return c })
}

type routeNamer struct {
	name   func(*http.Request) string
	panics atomic.Uint64
}

// routeOf returns the route of r, none without a namer.
func (m *Monitor) routeOf(r *http.Request) (route routeID) {
	if m.route.name == nil {
		return noRoute
	}
	defer func() {
		if recover() != nil {
			m.route.panics.Add(1)
			route = noRoute
		}
	}()
	return m.routes.id(m.route.name(r))
}
