package load_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/sidecar/internal/load"
	"github.com/otelgc/otelgc/stall"
)

func TestMain(m *testing.M) { noleak.Main(m) }

func TestFixed(t *testing.T) {
	got, err := load.Fixed(4, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := load.Schedule{0, 250 * time.Millisecond, 500 * time.Millisecond, 750 * time.Millisecond}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Fixed(4, 1s) (-want +got):\n%s", diff)
	}
	for _, bad := range []struct {
		rate float64
		span time.Duration
	}{{0, time.Second}, {-1, time.Second}, {1, 0}, {1, 2 * load.MaxSpan}, {1e9, time.Minute}, {0.1, time.Second}} {
		if _, err := load.Fixed(bad.rate, bad.span); err == nil {
			t.Errorf("Fixed(%v, %v): no error", bad.rate, bad.span)
		}
	}
}

func TestRunCountsFromTheIntendedStart(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[int64]bool{}
	var stalled sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text := r.Header.Get("X-Arrival")
		if text == "" {
			return // the warm-up
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Errorf("header: %v", err)
		}
		stalled.Do(func() { time.Sleep(100 * time.Millisecond) })
		mu.Lock()
		defer mu.Unlock()
		seen[n] = true
		_, _ = w.Write([]byte(strings.Repeat("x", 5000))) // chunked
	}))
	defer server.Close()
	schedule, err := load.Fixed(100, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	out := load.Run(t.Context(), load.Options{
		Address: server.Listener.Addr().String(), Schedule: schedule, Clock: clock,
		Path: func(int) string { return "/" }, Header: "X-Arrival",
		Connections: 1, // so that all wait for the first
	})
	mu.Lock()
	defer mu.Unlock()
	for i := range out.Answers {
		a := &out.Answers[i]
		if !a.OK() {
			t.Fatalf("answer %d of %d failed: %v", i, len(out.Answers), out.Failure)
		}
		if want := out.Start.Add(schedule[i]); a.Arrival != want || !seen[int64(want)] {
			t.Errorf("answer %d arrived at %d (seen by the service: %v), want %d", i, a.Arrival, seen[int64(want)], want)
		}
		// The handler sleeps from after the first arrival: whoever arrives in
		// the sleep waits for its end, though he was sent only then.
		if floor := 100*time.Millisecond - schedule[i]; a.Latency() < floor {
			t.Errorf("latency of request %d: %v, want at least %v", i, a.Latency(), floor)
		}
		if a.Ready < a.Arrival || a.Sent < a.Ready || a.Receipt < a.Sent || a.Came != 0 && (a.Came < a.Sent || a.Receipt < a.Came) {
			t.Errorf("answer %d out of order: %+v", i, *a)
		}
		// Waiting for the one connection is not the generator's being late.
		if i > 0 && a.Ready < out.Answers[i-1].Receipt {
			t.Errorf("request %d was ready at %d, but the connection was busy until %d", i, a.Ready, out.Answers[i-1].Receipt)
		}
	}
}

func TestRunCountsFailures(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	out := load.Run(t.Context(), load.Options{
		Address: server.Listener.Addr().String(), Schedule: load.Schedule{0, 1000}, Clock: clock,
		Path: func(int) string { return "/" },
	})
	for i := range out.Answers {
		if out.Answers[i].OK() {
			t.Errorf("answer %d is ok, want it to have failed", i)
		}
	}
	if want := "read answer: status 404 Not Found"; fmt.Sprint(out.Failure) != want {
		t.Errorf("failure %q, want %q", fmt.Sprint(out.Failure), want)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := load.Run(ctx, load.Options{
		Address: server.Listener.Addr().String(), Schedule: load.Schedule{0, time.Hour}, Clock: clock,
		Path: func(int) string { return "/" },
	})
	if a := out.Answers[1]; a.Sent != 0 || a.OK() {
		t.Errorf("answer of a request an hour away: %+v, want it not to have been sent", a)
	}
}

// TestRunSurvivesClosedConnections: what is sent on a connection that the service
// has closed fails, and the next is sent on a new one.
func TestRunSurvivesClosedConnections(t *testing.T) {
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/0" {
			w.Header().Set("Connection", "close")
		}
	}))
	defer server.Close()
	schedule := load.Schedule{0, 200 * time.Millisecond, 400 * time.Millisecond}
	out := load.Run(t.Context(), load.Options{
		Address: server.Listener.Addr().String(), Schedule: schedule, Clock: clock, Connections: 1,
		Path: func(i int) string { return "/" + strconv.Itoa(i) }, Header: "X-Arrival",
	})
	if last := &out.Answers[2]; !last.OK() {
		t.Errorf("the last request was not answered: %+v, %v", *last, out.Failure)
	}
}
