package attribution

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// truth is a host behind an agent: a Go process with otelgc, a .NET process that the
// sidecar watches, and the sidecar with its probe. Each second there is a pause of 3 ms
// in both, and the machine takes 2 ms from everybody.
type truth struct {
	a                  *Attributor
	goes, net, sidecar *sender
	netSpans           *sender // the resource of the .NET process's spans
	second             int64
}

const liesFor = 24 // seconds, so that what takes sixteen statuses takes place

func newTruth(c Config) *truth {
	h := &truth{a: New(c), goes: newSender(), net: newSender(), sidecar: newSender(), netSpans: newSender(), second: 100}
	h.goes.with = m{wire.AttrServiceName: "shop", wire.AttrInstanceID: "one", wire.AttrContainerID: "abc"}
	h.net.pid, h.net.with = 50, m{wire.AttrServiceName: "shop", wire.AttrContainerID: "def", semconv.AttrProcessCreation: "2026-11-21T10:00:00.25Z", semconv.AttrStamp: semconv.StampSidecar}
	h.netSpans.pid, h.netSpans.with = 50, m{wire.AttrContainerID: "def"}
	h.sidecar.pid, h.sidecar.with = 7, m{semconv.AttrHostName: "node", semconv.AttrStamp: semconv.StampSidecar}
	h.tell()
	return h
}

// tell tells of one second.
func (h *truth) tell() {
	at := h.second * sec
	h.a.Tick(start.Add(time.Duration(at - 100*sec)))
	h.a.Learn(h.goes.collection(stall.GCWatch, h.second, at+12*ms, at+15*ms, 0))
	h.a.Learn(h.net.collection(stall.Dotnet, h.second, at+12*ms, at+15*ms, 0))
	h.a.Learn(h.sidecar.gap(stall.ProbeSpin, stall.HostSteal, stall.ScopeMachine, at+16*ms, at+18*ms))
	h.second++
	h.a.Learn(h.goes.status(stall.GCWatch, at+sec))
	h.a.Learn(h.net.status(stall.Dotnet, at+sec))
	h.a.Learn(h.sidecar.status(stall.ProbeSpin, at+sec))
}

// charges are what spans of 10 ms say, by the service that they are of.
type charges struct{ Go, Net map[string]float64 }

// ask has spans of the second that is to come in, tells of it, and returns what becomes
// of them. They must not go on before.
func (h *truth) ask(t *testing.T, lie func()) (got charges) {
	t.Helper()
	one, other := new(catcher), new(catcher)
	at, now := h.second*sec, start.Add(time.Duration(h.second*sec-100*sec))
	h.a.Hold(h.goes.span(at+10*ms, at+20*ms), one.sink(), now)
	td := h.netSpans.span(at+10*ms, at+20*ms)
	td.ResourceSpans().At(0).Resource().Attributes().Remove(wire.AttrServiceName)
	h.a.Hold(td, other.sink(), now)
	lie()
	if h.a.Tick(now.Add(time.Second)); len(one.spans)+len(other.spans) > 0 {
		t.Error("spans went on before their own sources had told")
	}
	h.tell()
	lie()
	h.a.Tick(now.Add(2 * time.Second))
	h.a.Flush()
	return charges{floats(one.spans[0].Attributes()), floats(other.spans[0].Attributes())}
}

var (
	honest = map[string]float64{"otelgc.stall.gc.pause": 3e-3, "otelgc.stall.host.steal": 2e-3, "otelgc.stall.unseen": 5e-3, "otelgc.stall.coverage": 1}
	// nobody is what a span has whose process cannot be told.
	nobody = map[string]float64{"otelgc.stall.host.steal": 2e-3, "otelgc.stall.unseen": 8e-3, "otelgc.stall.coverage": 0}
)

// liar is a process behind the same agent. It says what it likes, each second.
type liar struct {
	says  func(l *sender, at int64) []plog.Logs
	shows string             // what counts it, if anything has to
	goes  map[string]float64 // what a span of the Go process gets; honest if nil
}

// wrong are a status and a collection of a clock that is that far off.
func wrong(l *sender, source stall.Origin, at, off int64) []plog.Logs {
	l.off = offset + off
	return []plog.Logs{l.collection(source, at/sec, at+10*ms, at+20*ms, 0), l.status(source, at+500*ms)}
}

var liars = map[string]liar{
	"nobody lies": {says: func(*sender, int64) []plog.Logs { return nil }},
	"its wall clock is 3 s off": {
		says:  func(l *sender, at int64) []plog.Logs { return wrong(l, stall.GCWatch, at, 3*sec) },
		shows: "disagreements",
	},
	"it is 12 s ahead": {
		says: func(l *sender, at int64) []plog.Logs { return wrong(l, stall.GCWatch, at+12*sec, 0) },
	},
	"it is two hours ahead, then not": {
		says:  func(l *sender, at int64) []plog.Logs { return wrong(l, stall.GCWatch, at+at/sec%2*7200*sec, 0) },
		shows: "time",
	},
	"it says that it is a probe": {
		says: func(l *sender, at int64) []plog.Logs {
			return append(wrong(l, stall.ProbeSpin, at, 3*sec), l.gap(stall.ProbeSpin, stall.HostIRQ, stall.ScopeMachine, at+10*ms, at+20*ms))
		},
		shows: "superseded",
	},
	"it says that it is many probes": {
		says: func(l *sender, at int64) (all []plog.Logs) {
			for i := range int64(3 * keptProbes) {
				l.with = m{semconv.AttrHostName: fmt.Sprint(at, i)}
				all = append(all, wrong(l, stall.ProbeSpin, at+12*sec, 3*sec)...)
			}
			return all
		},
		shows: "superseded",
	},
	"it stamps its records itself": {
		says: func(l *sender, at int64) []plog.Logs {
			ld := l.gap(stall.ProbeSpin, stall.HostIRQ, stall.ScopeMachine, at+10*ms, at+20*ms)
			attributes(ld).PutStr(semconv.AttrStamp, semconv.StampSidecar)
			return []plog.Logs{ld}
		},
		shows: "superseded",
	},
	"it tells what the machine did to another": {
		says: func(l *sender, at int64) []plog.Logs {
			return []plog.Logs{l.event(semconv.EventGap, stall.TargetWatch, at+10*ms, at+20*ms, func(a pcommon.Map) {
				a.PutStr(semconv.AttrCause, stall.HostPreempted.String())
				a.PutStr(semconv.AttrScope, stall.ScopeTarget.String())
				a.PutInt(semconv.AttrTargetPID, 42)
			})}
		},
		shows: "superseded",
	},
	"it says that it is in another's cgroup, and its target": {
		says: func(l *sender, at int64) []plog.Logs {
			ld := l.status(stall.GCWatch, at+500*ms)
			attributes(ld).PutEmptySlice(semconv.AttrCgroupIDs).AppendEmpty().SetInt(1)
			attributes(ld).PutInt(semconv.AttrTargetPID, 42)
			return []plog.Logs{ld}
		},
	},
	"its records say that they are of another machine": {
		says: func(l *sender, at int64) (all []plog.Logs) {
			l.pid, l.with = 42, m{wire.AttrServiceName: "shop", wire.AttrInstanceID: "one", wire.AttrContainerID: "abc", semconv.AttrBootID: "the agent's own"}
			return wrong(l, stall.GCWatch, at, 3*sec)
		},
	},
	"it has another host id, and another clock": { // as copies of a machine have
		says: func(l *sender, at int64) []plog.Logs {
			l.with = m{semconv.AttrHostID: "another"}
			return append(wrong(l, stall.GCWatch, at, 40*sec), wrong(l, stall.ProbePeriodic, at, 40*sec)...)
		},
		shows: "disagreements",
	},
	"it says that it has another's pid": {
		says: func(l *sender, at int64) []plog.Logs {
			l.pid = 42
			return wrong(l, stall.GCWatch, at, 3*sec)
		},
	},
	"another's pid, and a creation time": {
		says: func(l *sender, at int64) []plog.Logs {
			l.pid, l.with = 42, m{semconv.AttrProcessCreation: "2026-11-21T09:00:00.25Z"}
			return wrong(l, stall.GCWatch, at, 0)
		},
	},
	"it says what the spans of a .NET process say": {
		says: func(l *sender, at int64) []plog.Logs {
			l.pid, l.with = 50, m{wire.AttrContainerID: "def"}
			return wrong(l, stall.Dotnet, at, 0)
		},
		shows: "conflict or none",
	},
	"it says all that the sidecar says of a .NET process": {
		says: func(l *sender, at int64) []plog.Logs {
			l.pid, l.with = 50, m{wire.AttrServiceName: "shop", wire.AttrContainerID: "def", semconv.AttrProcessCreation: "2026-11-21T10:00:00.25Z"}
			return wrong(l, stall.Dotnet, at, 0)
		},
	},
	"it traces the requests of another, all of whose names it knows": {
		says: func(l *sender, at int64) []plog.Logs {
			l.pid, l.with = 42, m{wire.AttrServiceName: "shop", wire.AttrInstanceID: "one", wire.AttrContainerID: "abc"}
			return []plog.Logs{l.traced(at+10*ms+1000, at+20*ms+1000, "GET /", map[string]float64{"gc.pause": 10e-3})}
		},
	},
	"it traces the requests of a .NET process": {
		says: func(l *sender, at int64) []plog.Logs {
			l.pid, l.with = 50, m{wire.AttrServiceName: "shop", wire.AttrContainerID: "def", semconv.AttrProcessCreation: "2026-11-21T10:00:00.25Z"}
			return []plog.Logs{l.traced(at+10*ms+1000, at+20*ms+1000, "GET /", map[string]float64{"gc.pause": 10e-3})}
		},
	},
	"it knows all names of another, not its clock": {
		says: func(l *sender, at int64) []plog.Logs {
			l.pid, l.with = 42, m{wire.AttrServiceName: "shop", wire.AttrInstanceID: "one", wire.AttrContainerID: "abc"}
			return wrong(l, stall.GCWatch, at, 3*sec)
		},
		shows: "conflict",
		goes:  nobody,
	},
	"it knows all names of another, and the time": {
		says: func(l *sender, at int64) []plog.Logs {
			l.pid, l.with = 42, m{wire.AttrServiceName: "shop", wire.AttrInstanceID: "one", wire.AttrContainerID: "abc"}
			return wrong(l, stall.GCWatch, at, 0)
		},
		shows: "conflict",
		goes:  nobody,
	},
}

// TestLiars: whatever one process says, the spans of the others of its host have what
// they have without it; or, if it tells as another, that one's have nothing, counted.
func TestLiars(t *testing.T) {
	for name, x := range liars {
		t.Run(name, func(t *testing.T) {
			h, l := newTruth(Config{Probes: ProbesStamped}), newSender()
			l.pid = 99
			lie := func() {
				for _, ld := range x.says(l, h.second*sec) {
					h.a.Learn(ld)
				}
			}
			lie()
			for range liesFor {
				h.tell()
				lie()
			}
			got, want := h.ask(t, lie), charges{honest, honest}
			if x.goes != nil {
				want.Go = x.goes
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
			lost := h.a.Lost()
			counts := map[string]uint64{"": 1, "disagreements": lost.Disagreements, "conflict or none": 1}
			for _, k := range []string{"superseded", "unstamped", "conflict", "time"} {
				counts[k] = lost.Events[k]
			}
			if counts[x.shows] == 0 {
				t.Errorf("lost %+v: nothing shows it, want %s", lost, x.shows)
			}
			if name == "nobody lies" && (lost.Disagreements > 0 || len(lost.Events) > 0) {
				t.Errorf("lost %+v, want nothing", lost)
			}
		})
	}
}

// TestWhoIsHeard: of two probes that tell different clocks nobody knows which is right,
// so a span that has no better word is uncertain, not wrong; with Probes stamped the
// one without a stamp says nothing. What a process tells of its own clock stays.
func TestWhoIsHeard(t *testing.T) {
	for name, x := range map[string]struct {
		probes string
		own    bool // a process that tells its clock
		want   map[string]float64
	}{
		"all":              {ProbesAll, false, map[string]float64{"otelgc.stall.uncertain": 2e-3, "otelgc.stall.unseen": 8e-3, "otelgc.stall.coverage": 0}},
		"all, its own":     {ProbesAll, true, map[string]float64{"otelgc.stall.host.steal": 2e-3, "otelgc.stall.unseen": 8e-3, "otelgc.stall.coverage": 1}},
		"stamped":          {ProbesStamped, false, nobody},
		"stamped, its own": {ProbesStamped, true, map[string]float64{"otelgc.stall.host.steal": 2e-3, "otelgc.stall.unseen": 8e-3, "otelgc.stall.coverage": 1}},
		"by default":       {"", false, map[string]float64{"otelgc.stall.uncertain": 2e-3, "otelgc.stall.unseen": 8e-3, "otelgc.stall.coverage": 0}},
	} {
		a, c := New(Config{Probes: x.probes}), new(catcher)
		sidecar, l, s := newSender(), newSender(), newSender()
		sidecar.pid, sidecar.with = 7, m{semconv.AttrHostName: "node", semconv.AttrStamp: semconv.StampSidecar}
		l.pid, l.off = 99, offset+3*sec
		for _, at := range []int64{99 * sec, 100 * sec, 101 * sec} {
			a.Learn(sidecar.status(stall.ProbeSpin, at))
			a.Learn(l.status(stall.ProbeSpin, at+500*ms))
			if x.own {
				a.Learn(s.status(stall.GCWatch, at))
			}
		}
		a.Learn(sidecar.gap(stall.ProbeSpin, stall.HostSteal, stall.ScopeMachine, 100*sec+16*ms, 100*sec+18*ms))
		a.Hold(s.span(100*sec+10*ms, 100*sec+20*ms), c.sink(), start)
		a.Flush()
		if diff := cmp.Diff(x.want, floats(c.spans[0].Attributes()), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if a.Lost().Disagreements == 0 {
			t.Errorf("%s: lost %+v, want the clocks that disagree counted", name, a.Lost())
		}
	}
}

// TestUnstamped: an event that speaks for a host without a stamp is superseded while a
// stamped probe of that host is heard, and unstamped otherwise.
func TestUnstamped(t *testing.T) {
	a := New(Config{Probes: ProbesStamped})
	sidecar, pod := newSender(), newSender()
	sidecar.pid, sidecar.with = 7, m{semconv.AttrStamp: semconv.StampSidecar}
	pod.pid = 99
	say := func(at int64) {
		a.Learn(pod.status(stall.ProbePeriodic, at))
		a.Learn(pod.event(semconv.EventGap, stall.TargetWatch, at+10*ms, at+20*ms, func(a pcommon.Map) {
			a.PutStr(semconv.AttrCause, stall.HostPreempted.String())
			a.PutStr(semconv.AttrScope, stall.ScopeTarget.String())
			a.PutInt(semconv.AttrTargetPID, 42)
		}))
	}
	want := func(when string, want map[string]uint64) {
		t.Helper()
		if diff := cmp.Diff(want, a.Lost().Events); diff != "" {
			t.Errorf("%s: events lost (-want +got):\n%s", when, diff)
		}
	}
	elsewhere := newSender() // of another machine
	elsewhere.with = m{semconv.AttrStamp: semconv.StampSidecar, semconv.AttrBootID: "another"}
	a.Tick(start)
	a.Learn(elsewhere.status(stall.ProbeSpin, 100*sec))
	a.Learn(sidecar.event(semconv.EventGap, stall.TargetWatch, 100*sec, 100*sec+ms, func(a pcommon.Map) {
		a.PutStr(semconv.AttrCause, stall.HostPreempted.String())
		a.PutStr(semconv.AttrScope, stall.ScopeTarget.String())
		a.PutInt(semconv.AttrTargetPID, 43)
	}))
	say(100 * sec)
	want("without a probe of the machine", map[string]uint64{"unstamped": 2})
	a.Learn(sidecar.status(stall.ProbeSpin, 101*sec))
	say(101 * sec)
	want("beside one", map[string]uint64{"unstamped": 2, "superseded": 2})
	a.Tick(start.Add(time.Minute))
	say(161 * sec)
	want("when that is gone", map[string]uint64{"unstamped": 4, "superseded": 2})
}

// TestOwnProbe: with Probes stamped a probe in a process speaks for that one alone.
func TestOwnProbe(t *testing.T) {
	for pid, want := range map[int64]float64{42: 2e-3, 43: 0} {
		a, c, s, other := New(Config{Probes: ProbesStamped}), new(catcher), newSender(), newSender()
		other.pid = pid
		for _, at := range []int64{99 * sec, 101 * sec} {
			a.Learn(s.status(stall.GCWatch, at))
			if at == 101*sec {
				a.Learn(s.gap(stall.ProbeRuntime, stall.HostSteal, stall.ScopeMachine, 100*sec+16*ms, 100*sec+18*ms))
			}
			a.Learn(s.status(stall.ProbeRuntime, at))
			if pid != s.pid {
				a.Learn(other.status(stall.GCWatch, at))
			}
		}
		a.Hold(other.span(100*sec+10*ms, 100*sec+20*ms), c.sink(), start)
		a.Flush()
		if got := floats(c.spans[0].Attributes())["otelgc.stall.host.steal"]; !cmp.Equal(got, want, cmpopts.EquateApprox(0, 1e-9)) {
			t.Errorf("process %d: host.steal %v, want %v", pid, got, want)
		}
		if got := a.Lost().Events; len(got) != 0 {
			t.Errorf("process %d: lost %v, want nothing: a probe in a process is kept for it", pid, got)
		}
	}
}
