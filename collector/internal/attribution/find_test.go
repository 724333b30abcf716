package attribution

import (
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/otelgc/otelgc/collector/internal/senders"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// sides are two processes, each of which paused from 10 to 13 ms of the span or
// did not, and what the span's resource says.
type sides struct {
	one, two map[string]string // of the resources of the events; nil for no process
	pids     [3]int64          // of one, two and the span; 42 if zero
	boots    [2]string
	span     map[string]string
	bare     bool
}

func (x *sides) charged(t *testing.T) (paused bool, lost Lost) {
	t.Helper()
	a, c := New(Config{}), new(catcher)
	for i, with := range []map[string]string{x.one, x.two} {
		if with == nil {
			continue
		}
		s := newSender()
		s.with, s.pid = with, max(x.pids[i], 1)
		if x.pids[i] == 0 {
			s.pid = 42
		}
		if x.boots[i] != "" {
			s.boot = x.boots[i]
		}
		a.Learn(s.status(stall.Dotnet, 99*sec))
		if i == 0 {
			a.Learn(s.collection(stall.Dotnet, 1, 100*sec+10*ms, 100*sec+13*ms, 0))
		}
		a.Learn(s.status(stall.Dotnet, 101*sec))
	}
	s := newSender()
	s.with, s.bare, s.pid = x.span, x.bare, x.pids[2]
	if s.pid == 0 {
		s.pid = 42
	}
	a.Hold(s.span(100*sec, 100*sec+20*ms), c.sink(), start)
	a.Flush()
	return floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"] > 0, a.Lost()
}

type m = map[string]string

// TestFoundByIdentity: a span is charged with what its own process told, by
// whatever names it, and where two could be meant, with nothing.
func TestFoundByIdentity(t *testing.T) {
	const born, late = "2026-11-21T10:00:00.25Z", "2026-11-21T10:05:00.5Z"
	for name, x := range map[string]struct {
		sides
		found, ambiguous bool
	}{
		"pid, two processes":               {sides{one: m{}, two: m{}, pids: [3]int64{42, 43, 42}}, true, false},
		"pid in two containers":            {sides{one: m{"container.id": "a"}, two: m{"container.id": "b"}}, false, false},
		"and the span says which":          {sides{one: m{"container.id": "a"}, two: m{"container.id": "b"}, span: m{"container.id": "a"}}, true, false},
		"pid 1 says nothing":               {sides{one: m{}, pids: [3]int64{1, 1, 1}}, false, false},
		"pid 1 and creation time":          {sides{one: m{"process.creation.time": born}, two: m{"process.creation.time": late}, pids: [3]int64{1, 1, 1}, span: m{"process.creation.time": born}}, true, false},
		"pid 1 and instance":               {sides{one: m{"service.instance.id": "x"}, two: m{"service.instance.id": "y"}, pids: [3]int64{1, 1, 1}, span: m{"service.instance.id": "x"}}, true, false},
		"pid 1 and pod":                    {sides{one: m{"k8s.pod.uid": "u"}, two: m{"k8s.pod.uid": "v"}, pids: [3]int64{1, 1, 1}, span: m{"k8s.pod.uid": "u"}}, true, false},
		"creation time, told otherwise":    {sides{one: m{"process.creation.time": born}, span: m{"process.creation.time": "2026-11-21T10:00:01Z"}}, true, false},
		"creation time of another":         {sides{one: m{"process.creation.time": born}, span: m{"process.creation.time": late}}, false, false},
		"creation time that is none":       {sides{one: m{"process.creation.time": born}, span: m{"process.creation.time": "monday"}}, false, false},
		"two of one pid, both alive":       {sides{one: m{"process.creation.time": born}, two: m{"process.creation.time": late}}, false, true},
		"one container, two processes":     {sides{one: m{"container.id": "a"}, two: m{"container.id": "a"}, pids: [3]int64{8, 9, 8}, span: m{"container.id": "a"}, bare: true}, true, false},
		"and the span's is neither":        {sides{one: m{"container.id": "a"}, two: m{"container.id": "a"}, pids: [3]int64{8, 9, 10}, span: m{"container.id": "a"}, bare: true}, false, false},
		"two hosts of one name, same pid":  {sides{one: m{"host.name": "n"}, two: m{"host.name": "n"}, boots: [2]string{"a", "b"}, span: m{"host.name": "n"}, bare: true}, false, true},
		"two hosts of one name, other pid": {sides{one: m{"host.name": "n"}, two: m{"host.name": "n"}, boots: [2]string{"a", "b"}, pids: [3]int64{42, 43, 42}, span: m{"host.name": "n"}, bare: true}, true, false},
		"host id before its name":          {sides{one: m{"host.id": "x", "host.name": "n"}, two: m{"host.id": "y", "host.name": "n"}, boots: [2]string{"a", "b"}, span: m{"host.id": "x", "host.name": "n"}, bare: true}, true, false},
		"host name, in a container":        {sides{one: m{"host.name": "n"}, span: m{"host.name": "n", "container.id": "a"}, bare: true}, false, false},
		"another boot, same pid":           {sides{one: m{}, boots: [2]string{"a"}}, false, false},
		"pod, but which container":         {sides{one: m{"k8s.pod.uid": "u", "k8s.container.name": "app"}, span: m{"k8s.pod.uid": "u"}, bare: true}, false, false},
		"container of another host's boot": {sides{one: m{"container.id": "a"}, boots: [2]string{"a"}, span: m{"container.id": "a"}}, false, false},
	} {
		paused, lost := x.charged(t)
		if paused != x.found || lost.SpansAmbiguous > 0 != x.ambiguous {
			t.Errorf("%s: charged %v, lost %+v; want charged %v, ambiguous %v", name, paused, lost, x.found, x.ambiguous)
		}
		if !paused && lost.SpansUnknown+lost.SpansAmbiguous != 1 {
			t.Errorf("%s: lost %+v, want the span counted", name, lost)
		}
	}
}

// TestOneFallsSilent: of two processes of a container the one that ended is not
// meant, as soon as it has been silent for long enough.
func TestOneFallsSilent(t *testing.T) {
	a, c := New(Config{}), new(catcher)
	ended, lives := newSender(), newSender()
	ended.pid, lives.pid = 8, 9
	ended.with, lives.with = m{"container.id": "abc"}, m{"container.id": "abc"}
	a.Tick(start)
	for _, s := range []*sender{ended, lives} {
		a.Learn(s.status(stall.Dotnet, 99*sec))
	}
	a.Learn(lives.collection(stall.Dotnet, 1, 100*sec+ms, 100*sec+4*ms, 0))
	a.Learn(lives.status(stall.Dotnet, 101*sec))
	td := lives.span(100*sec, 100*sec+10*ms)
	td.ResourceSpans().At(0).Resource().Attributes().Remove(semconv.AttrProcessPID)
	a.Hold(td, c.sink(), start)
	if a.Tick(start); len(c.spans) != 0 {
		t.Fatal("the span went on while both could be meant")
	}
	// That the other is silent nobody can say but by telling for so long.
	later := start.Add(time.Duration(senders.SilentAfter) + time.Millisecond)
	a.Learn(lives.status(stall.Dotnet, 105*sec))
	if a.Tick(later); len(c.spans) != 0 {
		t.Fatal("the span went on for what one of the two said of the time")
	}
	a.Learn(lives.status(stall.Dotnet, 106*sec))
	if a.Tick(later.Add(lookAgain)); len(c.spans) != 1 {
		t.Fatal("the span waits although one alone is left")
	}
	if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"]; got == 0 || a.Lost().SpansAmbiguous != 0 {
		t.Errorf("gc.pause %v, lost %+v; want the pause of the one that lives", got, a.Lost())
	}
}

// TestTargetInContainer: the sidecar has another pid for a process in a
// container; what the machine did to it is charged where the source of the
// process told that pid, or the creation times agree.
func TestTargetInContainer(t *testing.T) {
	const outer = 4242
	for name, x := range map[string]struct {
		told    bool   // the runtime's status has the outer pid
		inner   int64  // the pid in the container
		born    int64  // of the target, ticks
		created string // of the process
		charged bool
	}{
		"told":                   {told: true, inner: 1, charged: true},
		"not told":               {inner: 7, charged: false},
		"same pid by chance":     {inner: outer, charged: false},
		"same pid, same birth":   {inner: outer, born: 77725, created: "2026-11-21T10:00:00.25Z", charged: true},
		"same pid, other birth":  {inner: outer, born: 77731, created: "2026-11-21T10:00:00.25Z", charged: false},
		"told, but of a later's": {told: true, inner: 1, born: 77731, created: "2026-11-21T10:00:00.25Z", charged: false},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		s.pid, s.with = x.inner, m{"container.id": "abc"}
		if x.created != "" {
			s.with["process.creation.time"] = x.created
		}
		status := s.status(stall.Dotnet, 101*sec)
		if x.told {
			status.ResourceLogs().At(0).ScopeLogs().At(0).LogRecords().At(0).Attributes().PutInt(semconv.AttrTargetPID, outer)
		}
		a.Learn(status)
		side := newSender() // the sidecar, which is a process of its own
		side.pid = 77
		a.Learn(side.event(semconv.EventGap, stall.TargetWatch, 100*sec+ms, 100*sec+3*ms, func(a pcommon.Map) {
			a.PutStr(semconv.AttrCause, stall.HostPreempted.String())
			a.PutStr(semconv.AttrScope, stall.ScopeTarget.String())
			a.PutInt(semconv.AttrTargetPID, outer)
			a.PutInt(semconv.AttrTargetCreated, x.born)
		}))
		a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
		a.Flush()
		if got := floats(c.spans[0].Attributes())["otelgc.stall.host.preempted"] > 0; got != x.charged {
			t.Errorf("%s: charged %v, want %v", name, got, x.charged)
		}
	}
}

// TestAttachedOnly: spans of processes with no otelgc inside are found by their
// container, their pod, or host and pid; a pid that was used again is not.
func TestAttachedOnly(t *testing.T) {
	for name, x := range map[string]struct {
		told, span map[string]string
		found      bool
	}{
		"container":     {map[string]string{"container.id": "abc"}, map[string]string{"container.id": "abc"}, true},
		"pod":           {map[string]string{"k8s.pod.uid": "u", "k8s.container.name": "app"}, map[string]string{"k8s.pod.uid": "u", "k8s.container.name": "app"}, true},
		"pod's other":   {map[string]string{"k8s.pod.uid": "u", "k8s.container.name": "app"}, map[string]string{"k8s.pod.uid": "u", "k8s.container.name": "log"}, false},
		"host id":       {map[string]string{"host.id": "h"}, map[string]string{"host.id": "h"}, true},
		"host name":     {map[string]string{"host.name": "n"}, map[string]string{"host.name": "n"}, true},
		"other host":    {map[string]string{"host.id": "h"}, map[string]string{"host.id": "i"}, false},
		"pid reused":    {map[string]string{"host.id": "h", "process.creation.time": "x"}, map[string]string{"host.id": "h", "process.creation.time": "y"}, false},
		"nothing known": {nil, nil, false},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		s.with = x.told
		a.Learn(s.status(stall.Dotnet, 100*sec))
		a.Learn(s.collection(stall.Dotnet, 1, 100*sec+ms, 100*sec+4*ms, 0))
		a.Learn(s.status(stall.Dotnet, 101*sec))
		s.with, s.bare = x.span, true
		a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
		a.Flush()
		if got := floats(c.spans[0].Attributes())["otelgc.stall.gc.pause"] > 0; got != x.found {
			t.Errorf("%s: charged %v, want %v", name, got, x.found)
		}
	}
}
