package otelgc

import (
	"bytes"
	"context"
	"io"
	"runtime/trace"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// fault is something that takes exact fidelity away for a while.
type fault struct {
	on   atomic.Bool
	seam seam
	// begin and end are called besides.
	begin, end func(*Monitor)
	// struck reports whether exact fidelity is gone.
	struck  func(*losses) bool
	forEver bool
}

// spoil changes what the tracer writes while the fault is on.
func (f *fault) spoil(change func(p []byte) []byte) *fault {
	f.seam = tamper(func(p []byte) []byte {
		if f.on.Load() {
			return change(p)
		}
		return p
	})
	return f
}

func faults() map[string]*fault {
	taken, broken, version, lost := new(fault), new(fault), new(fault), new(fault)
	var theirs bytes.Buffer
	taken.seam = hasty
	taken.begin = func(m *Monitor) { takeTracer(m, &theirs) }
	taken.end = func(*Monitor) { trace.Stop() }
	taken.struck = func(l *losses) bool { return l.of("slice tracer_in_use") > 0 }
	broken.struck = func(l *losses) bool { return l.of("slice decode") > 0 }
	version.struck = broken.struck
	lost.struck = func(*losses) bool { return !lost.on.Load() }
	broken.spoil(func(p []byte) []byte {
		for i := range p {
			p[i] = 0xff
		}
		return p
	})
	version.forEver = true
	version.spoil(func(p []byte) []byte {
		if bytes.HasPrefix(p, []byte("go 1.")) {
			return bytes.Replace(p, []byte("go 1.26"), []byte("go 1.99"), 1)
		}
		for i := range p {
			p[i] = 0xff // the slice that is being traced ends, and the next has the version
		}
		return p
	})
	// A generation of which nothing is written: the writer takes no empty one.
	var within bool
	lost.seam = func(m *Monitor) {
		m.exact.Runtime.Start = func(w io.Writer) error { return trace.Start(&skipping{w, lost, &within}) }
	}
	return map[string]*fault{
		"the tracer is taken by others": taken, "the decoder fails": broken,
		"the version is not known": version, "a generation is lost": lost,
	}
}

// skipping swallows one whole generation, in mid-stream, when the fault begins.
type skipping struct {
	w      io.Writer
	fault  *fault
	within *bool // a generation that is swallowed
}

func (s *skipping) Write(p []byte) (int, error) {
	end := len(p) == 1
	if *s.within {
		if end {
			*s.within = false
			s.fault.on.Store(false)
		}
		return len(p), nil
	}
	if end && s.fault.on.Load() {
		*s.within = true
	}
	return s.w.Write(p)
}

// TestFallbacks: whatever takes exact fidelity away, the service goes on, its
// windows are of fidelity cycle meanwhile, the metric says that less was seen,
// and exact comes back by itself unless it never can.
func TestFallbacks(t *testing.T) {
	skipIfTraced(t)
	for name, f := range faults() {
		t.Run(name, func(t *testing.T) { testFallback(t, f) })
	}
}

func testFallback(t *testing.T, f *fault) {
	var of [2]atomic.Int64 // windows by fidelity
	var quiet losses
	r := newRig()
	m := startTest(t, r, WithExactBudget(1), both(both(quiet.seam, f.seam), talkative), WithOnWindow(func(_ *stall.Window, s *stall.Share) {
		of[s.Fidelity].Add(1)
	}))
	stop := work(m)
	defer stop()
	more := func(what string, f stall.Fidelity) {
		t.Helper()
		before := of[f].Load()
		until(t, what, func() bool {
			if f == stall.Exact && m.exact.Marking() {
				time.Sleep(20 * time.Millisecond) // of windows
				turnover(t, m)
			}
			return of[f].Load() > before+10
		})
	}
	more("windows that are followed", stall.Exact)
	until(t, "the metric to say that the runtime is watched", func() bool { return coverage(t, r, stall.GoTrace) > 0 })
	f.on.Store(true)
	if f.begin != nil {
		f.begin(m)
	}
	until(t, "the fault to strike", func() bool { return f.struck(&quiet) })
	more("windows of fidelity cycle", stall.Cycle)
	until(t, "the metric to fall", func() bool { return coverage(t, r, stall.GoTrace) < 0.95 })
	if c := coverage(t, r, stall.GCWatch); c == 0 {
		t.Error("the watcher sees nothing either")
	}
	if f.forEver {
		until(t, "exact fidelity to end", m.exact.Finished)
		more("windows after the end of exact fidelity", stall.Cycle)
	} else {
		f.on.Store(false)
		if f.end != nil {
			f.end(m)
		}
		more("windows that are followed again", stall.Exact)
	}
	stop()
	shutdown(t, m)
	if f.forEver {
		m.status.source(m.here.clock.Now().Add(coverageOver), m.here.clock.Wall(), m.timeline.Exact)
		if c := coverage(t, r, stall.GoTrace); c != 0 {
			t.Errorf("the metric says %v when nothing was watched for as long as it looks back, want 0", c)
		}
	}
	if trace.IsEnabled() {
		t.Error("the tracer was left on")
	}
}

// work has windows begin and end until stop is called.
func work(m *Monitor) (stop func()) {
	quit := make(chan struct{})
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-quit:
					return
				default:
				}
				w := m.Begin(context.Background())
				garbage(100)
				w.End()
				time.Sleep(time.Millisecond)
			}
		})
	}
	return sync.OnceFunc(func() { close(quit); wg.Wait() })
}

// coverage returns the gauge of a source.
func coverage(t *testing.T, r *rig, s stall.Origin) float64 {
	t.Helper()
	gauge, _ := r.metrics(t)[semconv.MetricCoverage].(metricdata.Gauge[float64])
	for _, p := range gauge.DataPoints {
		if v, _ := p.Attributes.Value(attribute.Key(semconv.AttrSource)); v.AsString() == s.String() {
			return p.Value
		}
	}
	return 0
}
