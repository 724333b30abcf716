package otelgc

import (
	"context"
	"net"
	"net/http"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/otelgc/otelgc/stall"
)

// maxFresh bounds the connections that wait for their first request; those over
// it have no arrival.
const maxFresh = 1 << 14

// AcceptArrivals has the first request of each connection of srv arrive when the
// connection was accepted, so that a stall between that and its handler is seen.
// It sets srv.ConnContext and srv.ConnState, and calls those that srv has; call
// it before srv serves. Further requests of a connection have no arrival by it:
// when their bytes came, nobody noted. A header ([WithArrivalHeader]) goes before.
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
	fresh := freshConns{of: make(map[net.Conn]*fresh)}
	ownContext, ownState := srv.ConnContext, srv.ConnState
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		f := fresh.add(c, m.clock.Now())
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
