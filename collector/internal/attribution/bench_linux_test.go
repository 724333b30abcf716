package attribution

import (
	"runtime"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// load is an Attributor that knows 1,000 pauses and gaps of the machine, and a
// batch of 1,000 spans in their time.
func load() (*Attributor, *sender, ptrace.Traces) {
	const batch, stalls = 1000, 1000
	s, a := newSender(), New(Config{MaxBytes: 1 << 30})
	for i := range int64(stalls / 2) {
		at := 100*sec + i*10*ms
		a.Learn(s.collection(stall.GCWatch, i+1, at, at+100_000, 0))
		a.Learn(s.gap(stall.ProbePeriodic, stall.HostSteal, stall.ScopeMachine, at+5*ms, at+5*ms+50_000))
	}
	for at := 99 * sec; at <= 106*sec; at += sec {
		a.Learn(s.status(stall.GCWatch, at))
	}
	spans := s.span(100*sec, 100*sec+ms)
	list := spans.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
	list.EnsureCapacity(batch)
	for i := int64(1); i < batch; i++ {
		sp := list.AppendEmpty()
		list.At(0).CopyTo(sp)
		sp.SetStartTimestamp(pcommon.Timestamp(offset + 100*sec + i*5*ms))
		sp.SetEndTimestamp(pcommon.Timestamp(offset + 100*sec + i*5*ms + 3*ms))
	}
	return a, s, spans
}

// pass holds a batch on each core and hands all of them on.
func pass(a *Attributor, spans ptrace.Traces, sink Sink) (n int) {
	cores := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for range cores {
		wg.Go(func() {
			td := ptrace.NewTraces()
			spans.CopyTo(td) // as the receiver makes them
			a.Hold(td, sink, time.Time{})
		})
	}
	wg.Wait()
	a.Tick(time.Unix(1<<40, 0))
	return cores * spans.SpanCount()
}

// benchPasses measures passes of spans.
func benchPasses(b *testing.B, a *Attributor, spans ptrace.Traces) {
	n, used := 0, cpuTime(b)
	b.ReportAllocs()
	for b.Loop() {
		n += pass(a, spans, Sink{Count: true, Take: ended})
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "spans/s")
	b.ReportMetric(float64(n)/(cpuTime(b)-used).Seconds(), "spans/cpu-s")
}

// BenchmarkAttributor holds, joins and hands on batches of 1,000 spans in a time
// that holds 1,000 pauses and gaps of the machine, one on each core.
func BenchmarkAttributor(b *testing.B) {
	a, _, spans := load()
	benchPasses(b, a, spans)
}

// BenchmarkCarried is the same with spans that bring charges of their own process.
func BenchmarkCarried(b *testing.B) {
	a, _, spans := load()
	for _, s := range spans.ResourceSpans().At(0).ScopeSpans().At(0).Spans().All() {
		m := s.Attributes()
		m.PutStr(semconv.AttrFidelity, "exact")
		m.PutStr(semconv.AttrGCOverlap, "one_collection")
		for k, v := range of(map[string]float64{
			"gc.pause": 100e-6, "gc.assist": 50e-6, "sched": 20e-6, "app": 1e-3, "app_or_host": 1.83e-3, "unseen": 0, "coverage": 1,
		}) {
			m.PutDouble(k, v)
		}
	}
	benchPasses(b, a, spans)
}

// BenchmarkLearn learns one event at a time while spans are joined: how long an
// event waits for the joins.
func BenchmarkLearn(b *testing.B) {
	a, s, spans := load()
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-quit:
				return
			default:
				for range 16 {
					td := ptrace.NewTraces()
					spans.CopyTo(td)
					a.Hold(td, Sink{Count: true, Take: ended}, time.Time{})
				}
				a.Tick(time.Unix(1<<40, 0))
			}
		}
	})
	event, took := s.status(stall.GCWatch, 106*sec), []time.Duration{}
	for b.Loop() {
		began := time.Now()
		a.Learn(event)
		took = append(took, time.Since(began))
		time.Sleep(100 * time.Microsecond)
	}
	close(quit)
	wg.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
