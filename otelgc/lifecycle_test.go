package otelgc

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelgc/otelgc/internal/board"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestShutdownOften(t *testing.T) {
	skipIfTraced(t)
	m := startTest(t, WithExactBudget(1))
	waitMarking(t, m)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	_ = m.Shutdown(over) // may be done or not, but must not hang
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() { shutdown(t, m) })
	}
	wg.Wait()
	shutdown(t, m)
	if trace.IsEnabled() {
		t.Error("the tracer was left on")
	}
	flush(t, m)
	h := m.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	if resume, err := m.PauseExact(context.Background()); err != nil {
		t.Errorf("PauseExact after Shutdown: %v", err)
	} else {
		resume()
	}
}

func TestStartAfterShutdown(t *testing.T) {
	for range 3 {
		m := startTest(t, WithExactBudget(1))
		waitMarking(t, m)
		shutdown(t, m)
	}
}

// TestFailedStartLeavesNothing: a source that is none is an error, and the next
// Start is not refused.
func TestFailedStartLeavesNothing(t *testing.T) {
	if m, err := Start(WithBoard(""), WithSource(nil)); err == nil {
		shutdown(t, m)
		t.Fatal("no error for a source that is nil")
	}
	startTest(t, WithExactBudget(0))
}

// TestStartWithNilProviders: a nil provider is as good as none; one that is a nil
// pointer, in whose methods the SDK panics, is an error, and the next Start is not
// refused.
func TestStartWithNilProviders(t *testing.T) {
	var meters *sdkmetric.MeterProvider
	var loggers *sdklog.LoggerProvider
	for name, o := range map[string]Option{"meters": WithMeterProvider(meters), "loggers": WithLoggerProvider(loggers)} {
		if m, err := Start(WithBoard(""), o); err == nil {
			shutdown(t, m)
			t.Errorf("%s: no error", name)
		} else if got := err.Error(); !strings.Contains(got, "Provider") || strings.Contains(got, "\n") {
			t.Errorf("%s: got error %q, want one line that names the provider", name, got)
		}
	}
	startTest(t, WithExactBudget(0), WithMeterProvider(nil), WithLoggerProvider(nil), nil)
}

// TestStartInABubble: the runtime ends the program whose tracer or finalizers find
// themselves in a bubble of testing/synctest. There Start refuses, and nothing is
// left that the collector would run into.
func TestStartInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, err := Start(WithBoard(""))
		if !errors.Is(err, stall.ErrNotSupported) {
			t.Errorf("Start: got %v, want %v", err, stall.ErrNotSupported)
		}
		runtime.GC()
		if err := m.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown of no monitor: %v", err)
		}
	})
	startTest(t, WithExactBudget(0))
}

func TestOnPause(t *testing.T) {
	const slow = 3
	var calls atomic.Int64
	block := make(chan struct{})
	m := startTest(t, WithExactBudget(0), WithOnPause(0, func(c gc.Collection) {
		if calls.Add(1) == 1 {
			<-block
			panic("the user's own")
		}
		if c.Index == 0 || len(c.Pauses) == 0 {
			t.Errorf("called with %+v", c)
		}
	}))
	for range slow * hookQueue {
		runtime.GC()
	}
	flush(t, m) // a function that hangs holds up nothing
	list, _ := m.Collections(0)
	if len(list) == 0 {
		t.Fatal("no collection was recorded while the function hung")
	}
	close(block)
	until(t, "a call after one that panicked", func() bool {
		runtime.GC()
		return calls.Load() > 1
	})
	if n := calls.Load(); n >= slow*hookQueue {
		t.Errorf("%d calls for hardly more collections: the rate is not limited", n)
	}
}

func TestOnPauseBelowTheThreshold(t *testing.T) {
	m := startTest(t, WithExactBudget(0), WithOnPause(time.Hour, func(c gc.Collection) {
		t.Errorf("called for %v", c.PauseTotal())
	}))
	runtime.GC()
	flush(t, m)
}

// TestBoardReachesTheWindow: a gap of one CPU is coincident with a window, one
// of the whole machine is charged to it.
func TestBoardReachesTheWindow(t *testing.T) {
	path := t.TempDir() + "/otelgc/board"
	w, err := board.Create(board.WriterOptions{Paths: []string{path}, Source: stall.ProbeSpin, CPUs: []int{0}})
	if err != nil {
		t.Skipf("skipped: no board here: %v", err)
	}
	defer func() { _ = w.Close() }()
	var got shares
	m := startTest(t, WithExactBudget(0), WithOnWindow(got.add), WithBoard(path))
	until(t, "the board to be read", m.machine.board.Open)
	h := m.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		start := m.here.clock.Now()
		time.Sleep(3 * time.Millisecond)
		for i, scope := range []stall.Scope{stall.ScopeCPU, stall.ScopeMachine} {
			at := start + stall.Instant(i+1)*1e6
			if err := w.Append(stall.Interval{
				Start: at, End: at + 500_000, Cause: stall.HostUnknown, Origin: stall.ProbeSpin, Scope: scope,
			}); err != nil {
				t.Error(err)
			}
		}
	}))
	var s stall.Share
	// Nobody waits for a board that has not told for a while: a machine may be so busy
	// that it is resolved without.
	until(t, "a window that the board told of in time", func() bool {
		from := m.here.clock.Now()
		until(t, "the board to tell", func() bool {
			w.Advance(m.here.clock.Now(), 0, 0)
			return m.machine.board.Log.Watermark() >= from
		})
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		until(t, "the window to be resolved", func() bool {
			w.Advance(m.here.clock.Now(), 0, 0)
			got.mu.Lock()
			defer got.mu.Unlock()
			if len(got.all) == 0 {
				return false
			}
			s, got.all = got.all[0].s, nil
			return true
		})
		return m.here.clock.Now().Sub(from) < timeline.Deadline
	})
	const gap = 500 * time.Microsecond
	if s.Coincident[stall.HostUnknown] != gap {
		t.Errorf("coincident: got %v, want %v of the CPU", s.Coincident[stall.HostUnknown], gap)
	}
	if s.Charged[stall.HostUnknown] != gap {
		t.Errorf("charged: got %v, want %v of the machine", s.Charged[stall.HostUnknown], gap)
	}
}
