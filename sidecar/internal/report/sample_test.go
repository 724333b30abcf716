package report

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

const (
	begin  = stall.Instant(1_000_000_000_000)
	warmup = time.Minute
	after  = begin + stall.Instant(warmup)
)

// goTarget has all of a runtime line.
func goTarget() recording.Target {
	return recording.Target{ID: 1, PID: 42, Name: "orders", Runtime: "go", At: begin, Facts: map[string]string{
		"version": "go1.26.8", "GOGC": "100", "GOMEMLIMIT": "off", "GOMAXPROCS": "8", "GODEBUG": "none", "GOEXPERIMENT": "none",
	}}
}

func place() recording.Environment {
	return recording.Environment{
		Recorder: "otelgc-sidecar v0.3.0", BootID: "5f0e", Started: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC), At: begin,
		Machine: "Some CPU @ 2GHz, 8 CPUs online, 31.2 GiB of memory", OS: "Debian 13, Linux 6.18.0",
		Workload: "orders, 2,000 requests/s, 1 KiB each",
	}
}

func spinner() recording.Probe {
	return recording.Probe{ID: 1, Mode: "spin", CPU: 7, Floor: time.Microsecond}
}

// cold is the number of collections within the warm-up.
const cold = 20

// kworker is the evidence of a preemption.
var kworker = jitterprobe.Evidence{Witness: jitterprobe.SwitchRecord, Time: 2 * time.Microsecond, Count: 1, TID: 321, Name: "kworker/7:0"}

// experiment has n collections and gaps behind the warm-up, one a millisecond,
// and some within it that are not to count.
func experiment(n int) []recording.Record {
	list := []recording.Record{place(), goTarget(), spinner(), recording.Doctor{RawMessage: json.RawMessage(`{"checks":[{"id":"clocksource","status":"ok"}]}`)}}
	at := func(i int) stall.Instant { return after.Add(time.Duration(i) * time.Millisecond) }
	for i := -cold; i < n; i++ {
		start, length := at(i), time.Duration(100+i%100)*time.Microsecond
		if i < 0 {
			start, length = begin.Add(time.Duration(i+cold)*time.Microsecond), time.Second // a cold program: none of it may show
		}
		list = append(list, recording.Collection{Target: 1, Collection: gc.Collection{
			Index: uint64(i + cold + 1), Cycles: 1, Kind: gc.Background, Trigger: gc.TriggerHeap,
			Start: gc.Known(start), End: gc.Known(start.Add(length)), Pauses: []gc.Pause{{Start: start, End: start.Add(length), EndMax: start.Add(length)}},
		}})
		if i%10 == 0 && i >= 0 {
			list = append(list, recording.Gaps{Probe: 1, List: []jitterprobe.Gap{
				{Interval: stall.Interval{Start: start.Add(10 * time.Microsecond), End: start.Add(70 * time.Microsecond), Cause: stall.HostUnknown, Scope: stall.ScopeCPU, CPU: 7}},
				{Interval: stall.Interval{Start: start.Add(900 * time.Microsecond), End: start.Add(903 * time.Microsecond), Cause: stall.HostPreempted, Scope: stall.ScopeCPU, CPU: 7}, Evidence: kworker},
			}})
		}
	}
	end := at(n)
	return append(list,
		recording.Gaps{Probe: 1, List: []jitterprobe.Gap{{Interval: stall.Interval{Start: begin + 5, End: begin + 5_000_005, Cause: stall.HostUnknown, Scope: stall.ScopeCPU, CPU: 7}}}},
		recording.Suspension{Target: 1, Span: stall.Span{Start: at(5), End: at(5) + 9000}, EndMax: at(5) + 9500, Reason: "read mem stats", Caller: "runtime.ReadMemStats < main.agent"},
		recording.Status{Source: "probe.spin", Probe: 1, At: after, Watermark: after - 100},
		recording.Status{Source: "probe.spin", Probe: 1, At: end, Watermark: end},
		recording.End{At: end},
	)
}

func write(t testing.TB, list []recording.Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.rec")
	w, err := recording.Create(path, list[0].(recording.Environment))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list[1:] {
		w.Add(r)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func readExperiment(t testing.TB, list []recording.Record, o Options) *Report {
	t.Helper()
	r, err := ReadFile(write(t, list), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Experiment == nil {
		t.Fatal("the report of a recording has no experiment")
	}
	return r
}

// many adds probes of three other CPUs, and one inside of the process.
func many(list []recording.Record) []recording.Record {
	end := list[len(list)-1].(recording.End).At
	list = slices.Clone(list[:len(list)-1])
	gap := func(probe int, at, d time.Duration, c stall.Cause, s stall.Scope, cpu int32) recording.Record {
		start := after.Add(at)
		e := jitterprobe.Evidence{Witness: jitterprobe.Remainder}
		if c == stall.RuntimeUnknown {
			e.Witness = jitterprobe.RuntimeDoor
		}
		return recording.Gaps{Probe: probe, List: []jitterprobe.Gap{{Interval: stall.Interval{Start: start, End: start.Add(d), Cause: c, Scope: s, CPU: cpu}, Evidence: e}}}
	}
	for id := 2; id <= 4; id++ {
		cpu := id + 2
		list = append(list,
			recording.Probe{ID: id, Mode: "periodic", CPU: cpu, Floor: 100 * time.Microsecond},
			gap(id, time.Second, 5*time.Millisecond, stall.HostIRQOrSteal, stall.ScopeCPU, int32(cpu)),
			recording.Status{Source: "probe.periodic", Probe: id, At: end, Watermark: end, Dropped: 1, DroppedTime: time.Millisecond},
		)
	}
	return append(list,
		recording.Probe{ID: 5, Mode: "periodic", CPU: 3, Floor: 100 * time.Microsecond, Target: 1},
		gap(5, 10*time.Millisecond+10*time.Microsecond, 99*time.Microsecond, stall.RuntimeUnknown, stall.ScopeProcess, 3),
		gap(5, 500*time.Millisecond+300*time.Microsecond, 250*time.Microsecond, stall.RuntimeUnknown, stall.ScopeProcess, 3),
		recording.Status{Source: "probe.periodic", Probe: 5, At: end, Watermark: end},
		gap(recording.AllProbes, time.Second, 4*time.Millisecond, stall.HostSteal, stall.ScopeMachine, -1),
		gap(9, time.Second, time.Second, stall.HostSteal, stall.ScopeCPU, 9), // of no probe that there is
		recording.End{At: end},
	)
}
