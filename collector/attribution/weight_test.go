package attribution

import (
	"fmt"
	"runtime"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"

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
			stall.AttrHostID, stall.AttrHostName, attrContainerID, attrPodUID, attrContainerName, attrInstanceID, stall.AttrProcessCreation,
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
				names(s, maxName-24)
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
				learn(s.status([]stall.Source{stall.ProbeSpin, stall.ProbePeriodic}[i%2], 100*sec))
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
				for i := range int64(mostStalls + mostStalls/4) {
					learn(s.collection(stall.GCWatch, i+1, 100*sec+i*ms, 100*sec+i*ms+1000, 0))
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
					a.PutInt(stall.AttrStart, 101*sec+i*sec/2)
					for _, k := range []string{stall.AttrUnseenStart, stall.AttrUnseenEnd} {
						list := a.PutEmptySlice(k)
						for n := range int64(maxList) {
							list.AppendEmpty().SetInt(101*sec + n)
						}
					}
					learn(ld)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := heap()
			a := New(Config{MaxHosts: 1 << 20, MaxProcesses: 1 << 20})
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

// TestMemoryIsGivenBack: what a burst took is given back when there is no more
// plenty of memory, and what is still wanted of it stays.
func TestMemoryIsGivenBack(t *testing.T) {
	const limit = 4 << 20
	a := New(Config{MaxBytes: limit})
	var all []*sender
	for pid := range int64(12) {
		s := newSender()
		s.pid = pid + 1
		all = append(all, s)
		a.Learn(s.status(stall.GCWatch, 100*sec))
		for i := range int64(mostStalls) {
			a.Learn(s.collection(stall.GCWatch, i+1, 100*sec+i*ms, 100*sec+i*ms+1000, 0))
		}
	}
	full := a.Known()
	if a.memoryIsPlenty() {
		t.Fatalf("%d bytes are known, and there is plenty of memory: nothing is proven", full)
	}
	for at := 101 * sec; at < 400*sec; at += sec {
		for _, s := range all {
			if at%(10*sec) == 0 {
				a.Learn(s.collection(stall.GCWatch, 2000+at/sec, at, at+ms, 0))
			}
			a.Learn(s.status(stall.GCWatch, at))
		}
	}
	if got := a.Known(); got >= limit/mostKnown/2 {
		t.Errorf("%d bytes are known after the burst, %d in it, want plenty of memory", got, full)
	}
	l := a.known.exact[identityOf(all[0])].runtime[stall.GCWatch]
	wanted := stall.Span{Start: 400e9 - stall.Instant(lookBack), End: 399e9}
	if got := l.Coverage(wanted); got != 1 {
		t.Errorf("coverage of the time that is wanted: got %v, want 1", got)
	}
	if got := len(l.Intervals(nil, wanted)); got != 12 {
		t.Errorf("stalls in the time that is wanted: got %d, want 12", got)
	}
}

func (a *Attributor) memoryIsPlenty() bool { return a.account.plenty() }

// TestCrowdedLog: where the limit lets no log grow, the oldest stalls go although
// they are wanted; that is counted, and their time is not seen any more.
func TestCrowdedLog(t *testing.T) {
	s := newSender()
	a := New(Config{MaxBytes: 32 << 10})
	a.Learn(s.status(stall.GCWatch, 100*sec))
	for i := range int64(400) {
		a.Learn(s.collection(stall.GCWatch, i+1, 100*sec+i*ms, 100*sec+i*ms+1000, 0))
	}
	a.Learn(s.status(stall.GCWatch, 101*sec))
	l := a.known.exact[identityOf(s)].runtime[stall.GCWatch]
	n, room := l.Size()
	if n != room || room >= 400 {
		t.Fatalf("%d stalls are kept of %d: nothing is proven", n, room)
	}
	if got, want := a.Lost().Events["limit"], uint64(400-n); got != want {
		t.Errorf("stalls that found no room: got %d, want %d", got, want)
	}
	if got := l.Floor(); got < stall.Instant(100*sec+int64(400-n-1)*ms) {
		t.Errorf("floor %d: time of stalls that went counts as seen", got)
	}
	if a.Known() > 16<<10 {
		t.Errorf("%d bytes are known, want at most half of the limit", a.Known())
	}
}
