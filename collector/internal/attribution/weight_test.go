package attribution

import (
	"fmt"
	"runtime"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// wired returns events as a receiver makes them: no string is shared.
func wired(t testing.TB, ld plog.Logs) plog.Logs {
	t.Helper()
	sent, err := new(plog.ProtoMarshaler).MarshalLogs(ld)
	if err != nil {
		t.Fatal(err)
	}
	if ld, err = new(plog.ProtoUnmarshaler).UnmarshalLogs(sent); err != nil {
		t.Fatal(err)
	}
	return ld
}

// TestWeight: what is counted of what is known is what it takes on the heap, but
// for a tenth, and at least three fifths of it are there.
func TestWeight(t *testing.T) {
	names := func(s *sender, pad int) {
		for _, k := range []string{
			semconv.AttrHostID, semconv.AttrHostName, wire.AttrContainerID, wire.AttrPodUID, wire.AttrContainerName, wire.AttrInstanceID, wire.AttrServiceName, semconv.AttrProcessCreation,
		} {
			s.with[k] = fmt.Sprintf("%s%0*d", k, pad, s.pid)
		}
	}
	for name, tell := range map[string]func(learn func(plog.Logs)){
		"processes": func(learn func(plog.Logs)) {
			s := newSender()
			for s.pid = range int64(500) {
				learn(s.status(stall.GCWatch, 100*sec))
			}
		},
		"processes of a host each": func(learn func(plog.Logs)) {
			s := newSender()
			for i := range 400 {
				s.boot = fmt.Sprintf("7c0e2f6a-52f3-4a70-9d2a-%012d", i)
				learn(s.status(stall.GCWatch, 100*sec))
			}
		},
		"short names": func(learn func(plog.Logs)) {
			for i := range int64(400) {
				s := newSender()
				s.pid, s.with = i+1, m{}
				names(s, 5)
				learn(s.status(stall.Dotnet, 100*sec))
			}
		},
		"long names": func(learn func(plog.Logs)) {
			for i := range int64(400) {
				s := newSender()
				s.pid, s.with = i+1, m{}
				names(s, wire.MaxName-24)
				learn(s.status(stall.Dotnet, 100*sec))
			}
		},
		"both sources": func(learn func(plog.Logs)) {
			s := newSender()
			for s.pid = range int64(400) {
				learn(s.status(stall.GCWatch, 100*sec))
				learn(s.status(stall.GoTrace, 100*sec))
			}
		},
		"probes": func(learn func(plog.Logs)) {
			for i := range int64(400) {
				s := newSender()
				s.boot, s.pid, s.with = fmt.Sprint(i/8), i%8+1, m{}
				names(s, 5)
				learn(s.status([]stall.Origin{stall.ProbeSpin, stall.ProbePeriodic}[i%2], 100*sec))
			}
		},
		"targets": func(learn func(plog.Logs)) {
			s := newSender()
			for s.pid = range int64(400) {
				learn(s.gap(stall.TargetWatch, stall.HostPreempted, stall.ScopeTarget, sec, 2*sec))
			}
		},
		"stalls": func(learn func(plog.Logs)) {
			s := newSender()
			for s.pid = 1; s.pid <= 4; s.pid++ {
				for i := range int64(senders.MostStalls + senders.MostStalls/4) {
					learn(s.collection(stall.GCWatch, i+1, 100*sec+i*ms, 100*sec+i*ms+1000, 0))
				}
			}
		},
		"traced requests": func(learn func(plog.Logs)) {
			s := newSender()
			for s.pid = 1; s.pid <= 4; s.pid++ {
				learn(s.status(stall.GoUprobe, 100*sec))
				for i := range int64(600) {
					learn(s.traced(100*sec+i*ms, 100*sec+i*ms+1000, "GET /", nil))
				}
			}
		},
		"statuses that wait": func(learn func(plog.Logs)) {
			s := newSender()
			for s.pid = 1; s.pid <= 40; s.pid++ {
				learn(s.status(stall.GCWatch, 100*sec))
				for i := range int64(8) {
					ld := s.status(stall.GCWatch, 102*sec+i*sec/2)
					a := ld.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes()
					a.PutInt(semconv.AttrStart, 101*sec+i*sec/2)
					for _, k := range []string{semconv.AttrUnseenStart, semconv.AttrUnseenEnd} {
						list := a.PutEmptySlice(k)
						for n := range int64(semconv.MaxListed) {
							list.AppendEmpty().SetInt(101*sec + n)
						}
					}
					learn(ld)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := New(Config{MaxHosts: 1 << 20, MaxProcesses: 1 << 20})
			before := heap()
			tell(func(ld plog.Logs) { a.Learn(wired(t, ld)) })
			took, counted := heap()-before, a.Known()
			t.Logf("%d kB on the heap, %d kB counted: %.2f", took>>10, counted>>10, float64(took)/float64(counted))
			if took > counted+counted/10 || took < counted*3/5 {
				t.Errorf("%d bytes on the heap, %d counted", took, counted)
			}
			if lost := a.Lost(); lost.HostsForgotten+lost.ProcessesForgotten > 0 || counted < 64<<10 {
				t.Errorf("lost %+v, counted %d: nothing is proven", lost, counted)
			}
			for len(a.known.hosts) > 0 {
				a.known.forgetHost(a.known.recent.Back().Value.(*host))
			}
			if got := a.Known(); got != 0 {
				t.Errorf("with every host forgotten %d bytes are counted", got)
			}
			runtime.KeepAlive(a)
		})
	}
}
