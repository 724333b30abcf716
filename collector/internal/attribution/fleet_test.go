package attribution

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/stall"
)

// fleet is hosts with a probe each and quiet Go processes: each of them has
// otelgc in it, with the sources of both fidelities, and collects once in a few
// seconds.
type fleet struct {
	hosts []*sender // the probes
	procs []*sender
	at    int64 // up to here all is told
}

// The processes of a fleet: a collection each third second, of two pauses, told
// once. Statuses are told each fifth second, for speed.
const (
	fleetEach   = 3 * sec
	fleetStatus = 5 * sec
)

func newFleet(hosts, perHost int) *fleet {
	f := &fleet{at: 1000 * sec}
	for h := range hosts {
		boot := fmt.Sprintf("7c0e2f6a-52f3-4a70-9d2a-%012d", h)
		probe := newSender()
		probe.boot, probe.with = boot, m{"host.id": boot, "host.name": fmt.Sprintf("node-%d.example.com", h)}
		f.hosts = append(f.hosts, probe)
		for i := range perHost {
			s := newSender()
			s.boot, s.pid = boot, int64(100+i)
			s.with = m{
				"host.id": boot, "host.name": fmt.Sprintf("node-%d.example.com", h), "service.name": "shop",
				"container.id":          fmt.Sprintf("%064d", h*perHost+i),
				"k8s.pod.uid":           fmt.Sprintf("0e9a4c1d-3a0e-4c3b-9c66-%012d", i),
				"k8s.container.name":    "app",
				"service.instance.id":   fmt.Sprintf("627cc493-f310-47de-96bd-%012d", h*perHost+i),
				"process.creation.time": "2026-11-21T10:00:00.25Z",
			}
			f.procs = append(f.procs, s)
		}
	}
	return f
}

// tell lets so much time pass, and tells what happens in it.
func (f *fleet) tell(a *Attributor, d time.Duration) {
	for end := f.at + int64(d); f.at < end; f.at += sec {
		a.Tick(time.Unix(0, offset+f.at))
		if f.at%fleetEach == 0 {
			for _, s := range f.procs {
				a.Learn(s.collection(stall.GCWatch, f.at/fleetEach, f.at-2*ms, f.at-ms, 0))
			}
		}
		for _, s := range f.hosts { // the longest gap of a second is always told
			a.Learn(s.gap(stall.ProbePeriodic, stall.HostSteal, stall.ScopeMachine, f.at-ms/2, f.at-ms/4))
		}
		if f.at%fleetStatus != 0 {
			continue
		}
		for _, s := range f.procs {
			a.Learn(s.status(stall.GCWatch, f.at))
			a.Learn(s.status(stall.GoTrace, f.at))
		}
		for _, s := range f.hosts {
			a.Learn(s.status(stall.ProbePeriodic, f.at))
		}
	}
}

// TestFleet: a part of the default memory knows as great a part of 5,000 quiet
// processes, and of each as far back as a span may want to know.
func TestFleet(t *testing.T) {
	const part, hosts, perHost = 32, 8, 20
	a, c := New(Config{MaxBytes: Default().MaxBytes / part}), new(catcher)
	f := newFleet(hosts, perHost)
	before := heap()
	f.tell(a, 3*time.Minute)
	if n := a.known.processes; n != hosts*perHost {
		t.Errorf("%d processes are known, want %d", n, hosts*perHost)
	}
	if got := a.Lost(); got.ProcessesForgotten+got.HostsForgotten+got.Events["limit"] > 0 {
		t.Errorf("lost %+v, want nothing for want of room", got)
	}
	t.Logf("%d bytes a process are counted, %d are on the heap", a.Known()/a.known.processes, (heap()-before)/a.known.processes)
	for _, s := range f.procs {
		long := s.span(f.at-110*sec, f.at-10*sec)
		a.Hold(received(t, long), c.sink(), start)
	}
	a.Flush()
	for i, span := range c.spans {
		got := floats(span.Attributes())
		if got["otelgc.stall.coverage"] != 1 || got["otelgc.stall.gc.pause"] < 32.9e-3 {
			t.Fatalf("span %d of 100 s: got %v, want coverage 1 and 33 pauses of 1 ms", i, got)
		}
	}
}

// TestNoTurns: where more processes send than there is room for, those that are
// known stay known as long as they live, and who is new takes the place of one
// that fell silent.
func TestNoTurns(t *testing.T) {
	a := New(Config{MaxProcesses: 10})
	f := newFleet(1, 11)
	f.tell(a, time.Minute)
	if got := a.Lost(); got.ProcessesForgotten != 0 || got.Events["limit"] == 0 {
		t.Errorf("lost %+v, want the eleventh refused and none forgotten", got)
	}
	for _, s := range f.procs[:10] {
		if p := a.known.exact[identityOf(s)]; p == nil || p.runtime[stall.GCWatch].Coverage(stall.Span{Start: stall.Instant(f.at - 30*sec), End: stall.Instant(f.at - 5*sec)}) != 1 {
			t.Fatal("one of the first ten is not known without a break")
		}
	}
	ended := f.procs[3]
	f.procs = append(f.procs[:3:3], f.procs[4:]...)
	f.tell(a, time.Minute)
	if a.known.exact[identityOf(ended)] != nil || a.known.exact[identityOf(f.procs[9])] == nil {
		t.Error("the eleventh did not take the place of the one that ended")
	}
}

// identityOf returns the identity of a sender's events.
func identityOf(s *sender) wire.Identity {
	rl := s.status(stall.GCWatch, 1).ResourceLogs().At(0)
	e, _, _ := wire.ParseEvent(rl.ScopeLogs().At(0).LogRecords().At(0), &wire.Resource{Attributes: rl.Resource().Attributes()})
	return e.Sender
}

// TestFairShare: where all that are known are alive, the host with most of them
// makes way for one with less.
func TestFairShare(t *testing.T) {
	a := New(Config{MaxProcesses: 12})
	f := newFleet(3, 12)
	f.tell(a, 30*time.Second)
	if a.known.processes != 12 {
		t.Errorf("%d processes are known, want 12", a.known.processes)
	}
	for _, h := range a.known.hosts {
		if n := h.processes.Len(); n != 4 {
			t.Errorf("%d processes of a host are known, want 4", n)
		}
	}
}

// TestDeadAreForgotten: without need who has said nothing for long is forgotten,
// and all of its memory is counted off.
func TestDeadAreForgotten(t *testing.T) {
	a := New(Config{})
	f := newFleet(2, 3)
	f.tell(a, time.Minute)
	ended := f.procs[0]
	f.procs = f.procs[1:]
	f.tell(a, 20*time.Minute)
	if a.known.exact[identityOf(ended)] != nil || a.known.processes != 5 {
		t.Errorf("%d processes are known, want 5 without the one that ended", a.known.processes)
	}
	a.Tick(time.Unix(0, offset+f.at).Add(time.Hour))
	if k := &a.known; len(k.hosts)+k.processes+len(k.index)+len(k.exact)+len(k.named) > 0 || a.Known() != 0 {
		t.Errorf("with all silent: %d hosts, %d processes, %d links, %d names, %d bytes",
			len(k.hosts), k.processes, len(k.index), len(k.named), a.Known())
	}
	if got := a.Lost(); got.ProcessesForgotten+got.HostsForgotten != 0 {
		t.Errorf("lost %+v, want nothing: there was room", got)
	}
}

// BenchmarkFleet tells how many quiet processes the default memory holds.
func BenchmarkFleet(b *testing.B) {
	const hosts, perHost = 250, 20
	for b.Loop() {
		f := newFleet(hosts, perHost)
		before := heap()
		a := New(Config{MaxHosts: hosts, MaxProcesses: hosts * perHost})
		f.tell(a, 4*time.Minute)
		took := heap() - before
		b.ReportMetric(float64(a.known.processes), "processes")
		b.ReportMetric(float64(a.Known())/float64(a.known.processes), "B/process")
		b.ReportMetric(float64(took)/float64(a.Known()), "heap/counted")
		b.ReportMetric(float64(a.Lost().Events["limit"]), "over-limit")
		runtime.KeepAlive(a)
	}
}
