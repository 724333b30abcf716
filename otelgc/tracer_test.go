package otelgc

import (
	"bytes"
	"context"
	"io"
	"runtime"
	"runtime/trace"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// TestForeignTraceBeforeUs: cycle fidelity goes on, what could not be had is
// counted, and exact fidelity comes by itself when the tracer is free.
func TestForeignTraceBeforeUs(t *testing.T) {
	skipIfTraced(t)
	var theirs bytes.Buffer
	if err := trace.Start(&theirs); err != nil {
		t.Fatal(err)
	}
	var lost losses
	m := startTest(t, WithExactBudget(1), seam(lost.seam))
	until(t, "a slice that could not be had to be counted", func() bool { return lost.of("slice tracer_in_use") > 0 })
	runtime.GC()
	flush(t, m)
	if list, _ := m.Collections(0); len(list) == 0 {
		t.Error("no collection was recorded while somebody else traced")
	}
	trace.Stop()
	if !whole(t, theirs.Bytes()) {
		t.Error("the foreign trace is not whole")
	}
	waitMarking(t, m)
}

// whole reports whether a trace decodes to its end.
func whole(t *testing.T, data []byte) bool {
	t.Helper()
	r, err := gotrace.NewReader(bytes.NewReader(data), gotrace.Options{})
	for n := 0; err == nil; n++ {
		if _, err = r.Next(); err == io.EOF {
			return n > 0
		}
	}
	t.Logf("decode: %v", err)
	return false
}

// takeTracer ends a slice and begins a trace of somebody else's, at which moment it
// returns. Where it is held up in between for longer than a slice is given up after,
// the next slice has the tracer, and ends like it.
func takeTracer(m *Monitor, w io.Writer) (from stall.Instant) {
	for {
		trace.Stop()
		from = m.here.clock.Now()
		if trace.Start(w) == nil {
			return from
		}
	}
}

// TestForeignStopInASlice: somebody ends our stream without a word and takes the
// tracer. Their trace is not stopped by ours, what we do not see is unseen, and
// the next slice comes by itself.
func TestForeignStopInASlice(t *testing.T) {
	skipIfTraced(t)
	var lost losses
	m := startTest(t, WithExactBudget(1), both(lost.seam, hasty))
	waitMarking(t, m)
	var theirs bytes.Buffer
	from := takeTracer(m, &theirs)
	until(t, "the loss of the tracer to be noticed", func() bool { return lost.of("slice tracer_lost") > 0 })
	until(t, "a slice that could not be had", func() bool { return lost.of("slice tracer_in_use") > 0 })
	if !trace.IsEnabled() {
		t.Error("the foreign trace was stopped")
	}
	to := m.here.clock.Now()
	trace.Stop()
	if !whole(t, theirs.Bytes()) {
		t.Error("the foreign trace is not whole")
	}
	waitMarking(t, m)
	flush(t, m)
	if seen := m.timeline.Exact.Coverage(stall.Span{Start: from, End: to}); seen != 0 {
		t.Errorf("coverage while somebody else traced: got %v, want 0", seen)
	}
}

// TestFlightRecorderBesideUs: both get their data, and our Stop leaves theirs.
func TestFlightRecorderBesideUs(t *testing.T) {
	skipIfTraced(t)
	recorder := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: time.Second})
	if err := recorder.Start(); err != nil {
		t.Skipf("skipped: the flight recorder cannot start: %v", err)
	}
	defer recorder.Stop()
	m := startTest(t, WithExactBudget(1))
	waitMarking(t, m)
	untilSeen(t, m)
	shutdown(t, m)
	if !recorder.Enabled() || !trace.IsEnabled() {
		t.Fatal("the flight recorder was stopped with us")
	}
	var out bytes.Buffer
	if _, err := recorder.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	if !whole(t, out.Bytes()) {
		t.Error("the flight recorder's trace is not whole")
	}
}

func TestPauseExactFreesTheTracer(t *testing.T) {
	skipIfTraced(t)
	m := startTest(t, WithExactBudget(1))
	waitMarking(t, m)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	for range 3 {
		resume, err := m.PauseExact(ctx)
		if err != nil {
			t.Fatal(err)
		}
		again, err := m.PauseExact(ctx) // pauses nest
		if err != nil {
			t.Fatal(err)
		}
		again()
		again() // once more does nothing
		var out bytes.Buffer
		if err := trace.Start(&out); err != nil {
			t.Fatalf("trace.Start while paused: %v", err)
		}
		trace.Stop()
		if !whole(t, out.Bytes()) {
			t.Error("the trace is not whole")
		}
		resume()
		waitMarking(t, m)
	}
	cancel()
	if resume, err := m.PauseExact(ctx); err == nil { // the tracer was free
		resume()
	}
	waitMarking(t, m) // or else it stays paused
}

// TestUnknownVersionEndsExactFidelity for good, is said once, and hurts nobody.
func TestUnknownVersionEndsExactFidelity(t *testing.T) {
	skipIfTraced(t)
	var lost losses
	m := startTest(t, WithExactBudget(1), both(lost.seam, tamper(func(p []byte) []byte {
		return bytes.Replace(p, []byte("go 1.26 trace"), []byte("go 1.99 trace"), 1)
	})))
	until(t, "exact fidelity to be off", m.exact.Finished)
	if trace.IsEnabled() {
		t.Error("the tracer was left on")
	}
	runtime.GC()
	flush(t, m)
	list, _ := m.Collections(0)
	if len(list) == 0 {
		t.Error("no collection was recorded in cycle fidelity")
	}
	if len(lost.said) != 1 || !strings.Contains(lost.said[0], "1.99") {
		t.Errorf("said %q, want one sentence that names the version", lost.said)
	}
}

// TestBrokenStreamEndsTheSlice and no more: the next one is decoded.
func TestBrokenStreamEndsTheSlice(t *testing.T) {
	skipIfTraced(t)
	var lost losses
	var mu sync.Mutex
	writes := 0
	m := startTest(t, WithExactBudget(1), both(lost.seam, tamper(func(p []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		if writes++; writes == 2 {
			for i := range p {
				p[i] = 0xff
			}
		}
		return p
	})))
	until(t, "the broken slice to be counted", func() bool { return lost.of("slice decode") > 0 })
	waitMarking(t, m)
	untilSeen(t, m)
	if m.exact.Finished() {
		t.Error("one broken stream ended exact fidelity")
	}
}
