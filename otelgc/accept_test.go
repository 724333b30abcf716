package otelgc

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/otelgc/otelgc/stall"
)

// TestAcceptArrivals: the first request of a connection arrives with it, and no
// other, whoever serves the first.
func TestAcceptArrivals(t *testing.T) {
	var got shares
	m := startTest(t, WithExactBudget(0), WithOnWindow(got.add), WithArrivalHeader("X-Arrival", ArrivalMonotonic))
	mux := http.NewServeMux()
	mux.Handle("/measured", m.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	mux.HandleFunc("/other", func(http.ResponseWriter, *http.Request) {})
	s := httptest.NewUnstartedServer(mux)
	var contexts, states atomic.Int64
	s.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context { contexts.Add(1); return ctx }
	m.AcceptArrivals(s.Config)
	own := s.Config.ConnState // httptest puts its own around it
	s.Config.ConnState = func(c net.Conn, state http.ConnState) { states.Add(1); own(c, state) }
	s.Start()
	ask := func(path, header string) {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, s.URL+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			r.Header.Set("X-Arrival", header)
		}
		answer, err := s.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
	}
	reconnect := s.Client().Transport.(*http.Transport).CloseIdleConnections
	begin := m.here.clock.Now()
	ask("/measured", "")
	ask("/measured", "")
	reconnect()
	ask("/other", "")
	ask("/measured", "")
	reconnect()
	ask("/measured", "1") // not to be believed: the accept counts
	s.Close()
	flush(t, m)
	want := []bool{true, false, false, true}
	if len(got.all) != len(want) {
		t.Fatalf("%d windows, want %d", len(got.all), len(want))
	}
	for i, r := range got.all {
		if known := r.w.Arrival != 0; known != want[i] {
			t.Errorf("request %d: arrival known %v, want %v", i, known, want[i])
		} else if known && (r.w.Arrival < begin || r.w.Arrival > r.w.Start) {
			t.Errorf("request %d arrived at %d, want between %d and its start %d", i, r.w.Arrival, begin, r.w.Start)
		}
	}
	if contexts.Load() != 3 || states.Load() == 0 {
		t.Errorf("the server's own hooks: %d contexts, %d states, want 3 and some", contexts.Load(), states.Load())
	}
}

// TestFreshConns: only so many wait, an old one is none, and nothing is kept of
// what is over.
func TestFreshConns(t *testing.T) {
	l := freshConns{of: make(map[net.Conn]*fresh)}
	conns := make([]net.Conn, maxFresh+1)
	for i := range conns {
		conns[i] = &net.TCPConn{}
		if f := l.add(conns[i], 1); (f != nil) != (i < maxFresh) {
			t.Fatalf("connection %d: kept %v", i, f != nil)
		}
	}
	for _, c := range conns {
		l.spend(c)
		l.spend(c)
	}
	if len(l.of) != 0 {
		t.Errorf("%d connections are kept that are over", len(l.of))
	}
	m := &Monitor{}
	m.requests.accepting.Store(true)
	start := stall.Instant(100e9)
	for accepted, want := range map[stall.Instant]stall.Instant{
		start - 1: start - 1, start.Add(-maxArrivalAge): start.Add(-maxArrivalAge), start.Add(-maxArrivalAge) - 1: 0,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r = r.WithContext(context.WithValue(r.Context(), freshKey{}, &fresh{accepted: accepted}))
		if got := m.acceptedAt(r, start); got != want {
			t.Errorf("accepted at %d: arrival %d, want %d", accepted, got, want)
		}
		if got := m.acceptedAt(r, start); got != 0 {
			t.Errorf("a second request of the connection arrived at %d", got)
		}
	}
	var none *Monitor
	none.AcceptArrivals(&http.Server{})
}

// sliced is a connection of a listener's own that no map can hold.
type sliced struct {
	net.Conn
	ahead []byte
}

// TestAcceptArrivalsOfAnyConn: what a listener makes of its connections is its
// own affair.
func TestAcceptArrivalsOfAnyConn(t *testing.T) {
	m := startTest(t, WithExactBudget(0))
	var srv http.Server
	m.AcceptArrivals(&srv)
	c := sliced{ahead: []byte("GET ")}
	if ctx := srv.ConnContext(t.Context(), c); ctx != t.Context() {
		t.Error("a connection that cannot be told from others has an arrival")
	}
	srv.ConnState(c, http.StateClosed)
}
