package exact

import (
	"runtime/trace"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/otelgc/internal/timeline"
	"github.com/otelgc/otelgc/otelgc/internal/window"
	"github.com/otelgc/otelgc/stall"
)

const second = stall.Instant(time.Second)

// newStore returns a store whose clock has no error.
func newStore(start stall.Instant) *Store {
	return NewStore(start, stall.Clock{}, window.NewSlots(), timeline.New(start))
}

// ignore observes nothing.
type ignore struct{}

func (ignore) Generation(*gotrace.Generation) {}
func (ignore) Dropped(string, string, uint64) {}
func (ignore) Failed(error)                   {}

// newTracer returns a tracer that has not begun.
func newTracer(t testing.TB, budget float64) *Tracer {
	t.Helper()
	clock := testClock(t)
	now := clock.Now()
	return New(Options{Clock: clock, Budget: budget, Since: now, Slots: window.NewSlots(), Timeline: timeline.New(now), Observer: ignore{}})
}

func testClock(t testing.TB) stall.Clock {
	t.Helper()
	clock, err := stall.NewClock()
	if err != nil {
		t.Fatal(err)
	}
	return clock
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

// skipIfTraced: the test binary was started with -test.trace.
func skipIfTraced(t *testing.T) {
	t.Helper()
	if trace.IsEnabled() {
		t.Skip("skipped: somebody else is tracing this process")
	}
}

// own is what the collector or the scheduler did to a goroutine.
func own(start, end stall.Instant, c stall.Cause) stall.Interval {
	return stall.Interval{Start: start, End: end, Cause: c, Origin: stall.GoTrace, CPU: -1}
}
