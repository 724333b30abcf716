package attribution

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestPidOfAnother: a program with a shell before it is process 7 in each container.
// What tells of itself has the same names on its events and on its spans, so spans
// of other names are of another; what a sidecar calls it is no proof. Where something
// else proves that it is the same, its names are as they are.
func TestPidOfAnother(t *testing.T) {
	for name, x := range map[string]struct {
		source     stall.Origin
		told, span m
		found      bool
	}{
		"same names":          {stall.GCWatch, m{"host.name": "a", "service.name": "shop"}, m{"host.name": "a"}, true},
		"other host":          {stall.GCWatch, m{"host.name": "a"}, m{"host.name": "b"}, false},
		"traced":              {stall.GoTrace, m{"host.name": "a"}, m{"host.name": "b"}, false},
		"other host id":       {stall.GCWatch, m{"host.id": "a"}, m{"host.id": "b"}, false},
		"other service":       {stall.GCWatch, m{"service.name": "mail"}, nil, false},
		"service made up":     {stall.GCWatch, m{"service.name": "unknown_service:orders"}, nil, true},
		"nothing said":        {stall.GCWatch, nil, m{"host.name": "b"}, true},
		"made then":           {stall.GCWatch, m{"host.name": "a", "process.creation.time": "x"}, m{"host.name": "b", "process.creation.time": "x"}, true},
		"called by a sidecar": {stall.Dotnet, m{"host.name": "a", "service.name": "mail"}, m{"host.name": "b"}, true},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		s.pid, s.with = 7, x.told
		a.Learn(s.status(x.source, 99*sec))
		a.Learn(s.collection(x.source, 1, 100*sec+10*ms, 100*sec+13*ms, 0))
		a.Learn(s.status(x.source, 101*sec))
		s.with = x.span
		a.Hold(s.span(100*sec, 100*sec+20*ms), c.sink(), start) // of the service shop
		a.Flush()
		if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"] > 0; got != x.found {
			t.Errorf("%s: charged %v, want %v", name, got, x.found)
		}
	}
}

// TestPidThatTheSidecarHas: a process that the sidecar sees by another pid is in a
// container, and the pid proves nothing.
func TestPidThatTheSidecarHas(t *testing.T) {
	for outer, want := range map[int64]bool{7: true, 4242: false} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		s.pid = 7
		a.Learn(s.collection(stall.Dotnet, 1, 100*sec+10*ms, 100*sec+13*ms, 0))
		status := s.status(stall.Dotnet, 101*sec)
		attributes(status).PutInt(semconv.AttrTargetPID, outer)
		a.Learn(status)
		a.Hold(s.span(100*sec, 100*sec+20*ms), c.sink(), start)
		a.Flush()
		if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"] > 0; got != want {
			t.Errorf("the sidecar has pid %d for it: charged %v, want %v", outer, got, want)
		}
	}
}

// TestTargetOfAnotherName: what the machine did to a pid is not of a process that
// calls its host otherwise than the sidecar, unless it was made at the same time.
func TestTargetOfAnotherName(t *testing.T) {
	const created = "2026-11-21T10:00:00.25Z"
	for name, x := range map[string]struct {
		span m
		born int64
		want bool
	}{
		"same name":             {m{"host.name": "node"}, 0, true},
		"no name":               {nil, 0, true},
		"another":               {m{"host.name": "pod"}, 0, false},
		"another, made then":    {m{"host.name": "pod", "process.creation.time": created}, 77725, true},
		"another, not made yet": {m{"host.name": "pod", "process.creation.time": created}, 77731, false},
	} {
		a, c, side := New(Config{}), new(catcher), newSender()
		side.pid, side.with = 77, m{"host.name": "node"}
		a.Learn(side.status(stall.ProbePeriodic, 101*sec))
		a.Learn(side.event(semconv.EventGap, stall.TargetWatch, 100*sec+ms, 100*sec+3*ms, func(a pcommon.Map) {
			a.PutStr(semconv.AttrCause, stall.HostPreempted.String())
			a.PutStr(semconv.AttrScope, stall.ScopeTarget.String())
			a.PutInt(semconv.AttrTargetPID, 37)
			a.PutInt(semconv.AttrTargetCreated, x.born)
		}))
		s := newSender()
		s.pid, s.with = 37, x.span
		a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
		a.Flush()
		if got := floats(c.spans[0].Attributes())["otelgc.stall.host.preempted"] > 0; got != x.want {
			t.Errorf("%s: charged %v, want %v", name, got, x.want)
		}
	}
}
