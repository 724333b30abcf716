package otelgc

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/stall"
)

// shares collects what WithOnWindow is told.
type shares struct {
	mu  sync.Mutex
	all []resolved
}

type resolved struct {
	w stall.Window
	s stall.Share
}

func (s *shares) add(w *stall.Window, h *stall.Share) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, resolved{*w, *h})
}

func startTest(t *testing.T, opts ...Option) *Monitor {
	t.Helper()
	noleak.Check(t)
	m, err := startMonitor(append([]Option{WithBoard(""), seam(impatient)}, opts...)...)
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	t.Cleanup(func() { shutdown(t, m) })
	return m
}

const second = stall.Instant(time.Second)

func testClock(t testing.TB) stall.Clock {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return clock
}

// idleMonitor returns a monitor that has not begun.
func idleMonitor(t testing.TB) *Monitor {
	t.Helper()
	clock := testClock(t)
	tel, err := telemetry.New(telemetry.Options{Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return newMonitor(config{}, clock, tel, newOperator())
}

func shutdown(t *testing.T, m *Monitor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := m.Shutdown(ctx); err != nil {
		t.Errorf("Shutdown: %v", err)
	}
}

func flush(t *testing.T, m *Monitor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	if err := m.Flush(ctx); err != nil {
		t.Fatalf("Flush: %v", err)
	}
}

// turnover ends the slice that is traced: what it saw is known at once, instead of
// when its second is over. The next slice begins by itself.
func turnover(t *testing.T, m *Monitor) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	resume, err := m.PauseExact(ctx)
	if err != nil {
		t.Fatalf("PauseExact: %v", err)
	}
	resume()
}

// settle is flush for who need not wait for the end of a generation.
func settle(t *testing.T, m *Monitor) {
	t.Helper()
	turnover(t, m)
	flush(t, m)
}

func cyclesTotal() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

type node struct {
	next *node
	_    [64]byte
}

// garbage makes n small objects and returns the last hundred.
func garbage(n int) *node {
	var head *node
	for i := range n {
		head = &node{next: head}
		if i%100 == 0 {
			head = nil
		}
	}
	return head
}

func serve(t *testing.T, m *Monitor, work func()) *httptest.Server {
	t.Helper()
	h := http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		work()
		_ = json.NewEncoder(rw).Encode(map[string]int{"goroutines": runtime.NumGoroutine()})
	})
	s := httptest.NewServer(m.Middleware(h))
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, s *httptest.Server) {
	t.Helper()
	r, err := s.Client().Get(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
}

// collect forces n collections on so many Ps. With one there are more of them to a
// notice; with several each waits for threads of a machine that may be busy.
func collect(n, procs int) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	for range n {
		runtime.GC()
	}
}

// collectAlways forces one collection after the other until stop is called.
func collectAlways() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
				runtime.GC()
			}
		}
	}()
	return func() { close(quit); <-done }
}

// waitMarking returns once windows are being followed.
func waitMarking(t *testing.T, m *Monitor) {
	t.Helper()
	until(t, "a slice to begin", m.exact.Marking)
}

// until waits for something to come true, however long the machine takes.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// untilSeen waits until a generation that ends after now is decoded.
func untilSeen(t *testing.T, m *Monitor) {
	t.Helper()
	from := m.here.clock.Now()
	turnover(t, m)
	until(t, "a generation to be decoded", func() bool {
		return m.timeline.Exact.Coverage(stall.Span{Start: from, End: m.here.clock.Now()}) > 0
	})
}
