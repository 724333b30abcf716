package attribution

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
)

// heap returns the bytes that live on the heap.
func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// received returns spans as a receiver makes them.
func received(t *testing.T, td ptrace.Traces) ptrace.Traces {
	t.Helper()
	sent, err := new(ptrace.ProtoMarshaler).MarshalTraces(td)
	if err != nil {
		t.Fatal(err)
	}
	if td, err = new(ptrace.ProtoUnmarshaler).UnmarshalTraces(sent); err != nil {
		t.Fatal(err)
	}
	return td
}

// TestMemory: what is kept takes no more memory than the limit, whatever it is
// that is sent and however small it is on the wire.
func TestMemory(t *testing.T) {
	const limit = 8 << 20
	rich := func(td ptrace.Traces, n int, put func(ptrace.Span)) {
		list := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans()
		for range n {
			sp := list.AppendEmpty()
			list.At(0).CopyTo(sp)
			put(sp)
		}
	}
	for name, send := range map[string]func(i int, s *sender) (plog.Logs, ptrace.Traces){
		"spans": func(_ int, s *sender) (plog.Logs, ptrace.Traces) {
			td := s.span(100*sec, 101*sec)
			rich(td, 100, func(sp ptrace.Span) {
				for k := range 8 {
					sp.Attributes().PutStr(fmt.Sprintf("attribute.%d", k), "a value of some length")
				}
			})
			return plog.NewLogs(), td
		},
		"empty attributes": func(_ int, s *sender) (plog.Logs, ptrace.Traces) {
			td := s.span(100*sec, 101*sec)
			rich(td, 10, func(sp ptrace.Span) {
				for range 100 {
					sp.Attributes().PutEmptySlice("").AppendEmpty()
				}
				for range 100 {
					sp.Events().AppendEmpty()
					sp.Links().AppendEmpty()
				}
			})
			return plog.NewLogs(), td
		},
		"empty resources": func(int, *sender) (plog.Logs, ptrace.Traces) {
			td := ptrace.NewTraces()
			for range 100 {
				td.ResourceSpans().AppendEmpty()
			}
			return plog.NewLogs(), td
		},
		"scope names": func(_ int, s *sender) (plog.Logs, ptrace.Traces) {
			td := s.span(100*sec, 101*sec)
			scope := td.ResourceSpans().At(0).ScopeSpans().At(0).Scope()
			scope.SetName(strings.Repeat("n", 4<<10))
			scope.SetVersion(strings.Repeat("v", 4<<10))
			return plog.NewLogs(), td
		},
		"schema URLs": func(_ int, s *sender) (plog.Logs, ptrace.Traces) {
			td := s.span(100*sec, 101*sec)
			rs := td.ResourceSpans().At(0)
			rs.SetSchemaUrl(strings.Repeat("r", 4<<10))
			rs.ScopeSpans().At(0).SetSchemaUrl(strings.Repeat("s", 4<<10))
			return plog.NewLogs(), td
		},
		"boot ids": func(i int, s *sender) (plog.Logs, ptrace.Traces) {
			s.boot = fmt.Sprintf("boot %d", i)
			return s.gap(stall.ProbeSpin, stall.HostIRQ, stall.ScopeCPU, sec, 2*sec), ptrace.NewTraces()
		},
		"processes": func(i int, s *sender) (plog.Logs, ptrace.Traces) {
			s.pid, s.with = int64(i+1), m{"container.id": fmt.Sprint(i), "k8s.pod.uid": fmt.Sprint(i), "host.name": fmt.Sprint(i)}
			return s.collection(stall.GCWatch, 1, sec, 2*sec, 0), ptrace.NewTraces()
		},
		"sources": func(i int, s *sender) (plog.Logs, ptrace.Traces) {
			s.pid = int64(i/4 + 1)
			source := []stall.Origin{stall.GCWatch, stall.GoTrace, stall.Dotnet, stall.TargetWatch}[i%4]
			return s.gap(source, stall.HostPreempted, stall.ScopeTarget, sec, 2*sec), ptrace.NewTraces()
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			a := New(Config{MaxBytes: limit, MaxSpans: 1 << 30, MaxProcesses: 1 << 30, MaxHosts: 1 << 30})
			var n atomic.Int64
			sink := Sink{Take: func(p *Parcel) { n.Add(int64(p.Spans.SpanCount())); p.Done(true) }}
			sent := 0
			for i := range 3_000 {
				if _, held := a.Held(); held > limit/2 && i >= 150 {
					break // spans are many at once
				}
				ld, td := send(i, newSender())
				td = received(t, td)
				sent += td.SpanCount()
				a.Learn(ld)
				a.Hold(td, sink, start)
			}
			took := heap() - before
			_, bytes := a.Held()
			t.Logf("%d kB on the heap, %d kB counted", took>>10, (bytes+a.Known())>>10)
			if took > limit+limit/8 || bytes+a.Known() > limit {
				t.Errorf("%d bytes on the heap, %d counted, want at most %d", took, bytes+a.Known(), limit)
			}
			if counted := bytes + a.Known(); counted < limit/3 {
				t.Errorf("%d bytes counted: the limit was not reached, and nothing is proven", counted)
			}
			a.Flush()
			if int(n.Load()) != sent {
				t.Errorf("%d spans went on of %d", n.Load(), sent)
			}
			runtime.KeepAlive(a)
		})
	}
}

// TestFloodSparesOthers: one host that sends many processes forgets its own.
func TestFloodSparesOthers(t *testing.T) {
	a, c := New(Config{MaxProcesses: 16}), new(catcher)
	s := newSender()
	a.Learn(s.collection(stall.GCWatch, 1, 100*sec+12*ms, 100*sec+15*ms, 0))
	a.Learn(s.status(stall.GCWatch, 101*sec))
	flood := newSender()
	flood.boot = "another"
	for i := range int64(10_000) {
		flood.pid = i + 1
		a.Learn(flood.status(stall.GCWatch, 101*sec))
	}
	a.Hold(s.span(100*sec+10*ms, 100*sec+20*ms), c.sink(), start)
	a.Flush()
	if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"]; got == 0 {
		t.Error("the process of a quiet host was forgotten")
	}
	if got := a.Lost().ProcessesForgotten; got != 10_000-15 {
		t.Errorf("processes forgotten: got %d, want %d", got, 10_000-15)
	}
}
