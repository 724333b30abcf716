package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/goldentest"
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
		list = append(list, recording.Collection{Target: 1, GC: gc.Collection{
			Index: uint64(i + cold + 1), Cycles: 1, Kind: gc.Background, Trigger: gc.TriggerHeap,
			Start: gc.Known(start), End: gc.Known(start.Add(length)), Pauses: []gc.Pause{{Start: start, End: start.Add(length), EndMax: start.Add(length)}},
		}})
		if i%10 == 0 && i >= 0 {
			list = append(list, recording.Gaps{Probe: 1, List: []recording.Gap{
				{Start: start.Add(10 * time.Microsecond), End: start.Add(70 * time.Microsecond), Cause: stall.HostUnknown, Scope: stall.ScopeCPU, CPU: 7},
				{Start: start.Add(900 * time.Microsecond), End: start.Add(903 * time.Microsecond), Cause: stall.HostPreempted, Scope: stall.ScopeCPU, CPU: 7, Evidence: kworker},
			}})
		}
	}
	end := at(n)
	return append(list,
		recording.Gaps{Probe: 1, List: []recording.Gap{{Start: begin + 5, End: begin + 5_000_005, Cause: stall.HostUnknown, Scope: stall.ScopeCPU, CPU: 7}}},
		recording.Suspension{Target: 1, Start: at(5), End: at(5) + 9000, Reason: "read mem stats", Caller: "runtime.ReadMemStats < main.agent"},
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

func TestExperiment(t *testing.T) {
	r := readExperiment(t, experiment(10_000), Options{Warmup: warmup, Kinds: []gc.Kind{gc.Background}})
	x := r.Experiment
	if len(x.NotReproducible) > 0 {
		t.Errorf("not reproducible: %q, want that it is", x.NotReproducible)
	}
	if len(r.Collections) != 10_000 || r.PausesOf(gc.Background).Max >= time.Second {
		t.Errorf("%d collections, the longest pause %v: the warm-up is among the results", len(r.Collections), r.PausesOf(gc.Background).Max)
	}
	if len(x.Probes) != 1 {
		t.Fatalf("%d probes, want 1", len(x.Probes))
	}
	g := x.Probes[0].Gaps
	want := GapCounts{
		Observed: 10 * time.Second, Total: 2000, Time: 1000 * 63 * time.Microsecond, Longest: 60 * time.Microsecond,
		AtLeast: [len(gapBounds)]uint64{2000, 1000, 1000, 0, 0}, Long: 1000, Overlapping: 1000,
	}
	want.Histogram[11], want.Histogram[15] = 1000, 1000
	want.Causes[stall.HostUnknown], want.Causes[stall.HostPreempted] = 1000, 1000
	want.Decided = map[Decision]Sum{
		{Cause: stall.HostUnknown}:                                      {1000, 60 * time.Millisecond},
		{Cause: stall.HostPreempted, Witness: jitterprobe.SwitchRecord}: {1000, 3 * time.Millisecond},
	}
	for i := range worstKept { // all are as long: the first ones stay
		start := after.Add(time.Duration(10*i)*time.Millisecond + 10*time.Microsecond)
		want.Worst = append(want.Worst, recording.Gap{Start: start, End: start.Add(60 * time.Microsecond), Cause: stall.HostUnknown, Scope: stall.ScopeCPU, CPU: 7})
	}
	// Pauses of 149.5 us on average each ms, gaps of 60 us: 20.95 % meet by chance.
	if d := g.Expected - 209.5; d < -0.5 || d > 0.5 {
		t.Errorf("%v gaps overlap by chance, want 209.5", g.Expected)
	}
	g.Expected = 0
	if diff := cmp.Diff(want, g, cmp.AllowUnexported(GapCounts{})); diff != "" {
		t.Errorf("gaps (-want +got):\n%s", diff)
	}
}

func TestExperimentGolden(t *testing.T) {
	whole := experiment(10_000)
	inside := slices.Clone(whole)
	inside[2] = recording.Probe{ID: 1, Mode: "runtime", CPU: -1, Floor: time.Microsecond, Target: 1}
	for i, r := range inside {
		if g, ok := r.(recording.Gaps); ok && i%4 != 0 { // one in four is the machine's all the same
			g.List = slices.Clone(g.List)
			g.List[0].Cause, g.List[0].Scope = stall.RuntimeUnknown, stall.ScopeProcess
			g.Bare = true // an old recording
			inside[i] = g
		}
	}
	poor := []recording.Record{
		recording.Environment{Recorder: "otelgc-sidecar v0.3.0", Started: place().Started, At: begin},
		recording.Probe{ID: 1, Mode: "periodic", CPU: -1, Floor: 100 * time.Microsecond, Note: "one CPU: periodic"},
		recording.Target{ID: 1, PID: 42, Runtime: "dotnet", Facts: map[string]string{"version": "10.0.9", "flavor": "Workstation", "concurrent": "Unknown: its threads are gone"}},
		recording.Doctor{RawMessage: json.RawMessage(`{"checks":[{"id":"quota","status":"fail"},{"id":"steal","status":"warn"}]}`)},
		recording.Status{Source: "probe.periodic", Probe: 1, At: after + 5e9, Watermark: after + 5e9, Unrecorded: 3},
	}
	for name, list := range map[string][]recording.Record{"recording": whole, "recording-inside": inside, "recording-poor": poor, "recording-many": many(whole)} {
		t.Run(name, func(t *testing.T) {
			r := readExperiment(t, list, Options{Warmup: warmup})
			r.Source.File = "x.rec"
			var text bytes.Buffer
			if err := r.Print(&text); err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name+".txt", text.Bytes(), *update)
			if name == "recording-many" {
				var web bytes.Buffer
				if err := r.PrintHTML(&web); err != nil {
					t.Fatal(err)
				}
				goldentest.Check(t, name+".html", web.Bytes(), *update)
			}
			checkWidth(t, text.String())
			doc, err := json.MarshalIndent(r.docExperiment(), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name+".json", append(doc, '\n'), *update)
		})
	}
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
		return recording.Gaps{Probe: probe, List: []recording.Gap{{Start: start, End: start.Add(d), Cause: c, Scope: s, CPU: cpu, Evidence: e}}}
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

// TestPausesWithinASlack: a stop of the runtime near a pause whose place is not
// known may be that pause.
func TestPausesWithinASlack(t *testing.T) {
	list := experiment(20)
	list[2] = recording.Probe{ID: 1, Mode: "runtime", CPU: -1, Floor: time.Microsecond, Target: 1}
	for i, r := range list {
		switch v := r.(type) {
		case recording.Gaps:
			v.List = slices.Clone(v.List)
			for k := range v.List {
				g := &v.List[k]
				g.Cause, g.Start, g.End = stall.RuntimeUnknown, g.Start.Add(500*time.Microsecond), g.End.Add(500*time.Microsecond)
			}
			list[i] = v
		case recording.Collection:
			v.GC.Pauses = slices.Clone(v.GC.Pauses)
			v.GC.Pauses[0].Slack = 450 * time.Microsecond
			list[i] = v
		}
	}
	g := readExperiment(t, list, Options{Warmup: warmup}).Experiment.Probes[0].Gaps
	if g.Long != 2 || g.Overlapping != 0 || g.GC != 2 || !g.AtMost {
		t.Errorf("%d long gaps, %d in a pause, %d may be one, at most %v; want 2, 0, 2, true", g.Long, g.Overlapping, g.GC, g.AtMost)
	}
}

// TestNotReproducible takes one thing away at a time.
func TestNotReproducible(t *testing.T) {
	whole := readExperiment(t, experiment(10_000), Options{Warmup: warmup})
	tests := []struct {
		name   string
		change func(r *Report, x *Experiment)
		claim  []gc.Kind
		want   string
	}{
		{"no machine", func(_ *Report, x *Experiment) { x.Machine = "" }, nil, `the line "machine" is missing`},
		{"no os", func(_ *Report, x *Experiment) { x.OS = "" }, nil, `the line "os" is missing`},
		{"no workload", func(_ *Report, x *Experiment) { x.Workload = "" }, nil, "give it with --workload"},
		{"no GOGC", func(_ *Report, x *Experiment) { x.Targets[0].Facts["GOGC"] = "" }, nil, "the runtime line of process 42 lacks GOGC"},
		{"unknown version", func(_ *Report, x *Experiment) { x.Targets[0].Facts["version"] = "unknown" }, nil, "in the runtime line of process 42 version is unknown"},
		{"unknown, and why", func(_ *Report, x *Experiment) { x.Targets[0].Facts["GOGC"] = "unknown: it was set by hand" }, nil, "GOGC is unknown: it was set by hand"},
		{"no target", func(_ *Report, x *Experiment) { x.Targets = nil }, nil, `the line "runtime" is missing`},
		{"no collection", func(r *Report, _ *Experiment) { r.Collections = nil }, nil, "no collection occurred in process 42"},
		{"a kind that did not occur", func(*Report, *Experiment) {}, []gc.Kind{gc.FullBlocking}, "no collection of kind full_blocking occurred in process 42"},
		{"few pauses", func(r *Report, _ *Experiment) { r.Collections = r.Collections[1:] }, nil, "9,999 pauses of kind background in process 42 are too few for p99.9"},
		{"short", func(_ *Report, x *Experiment) { x.Results.Start = x.Results.End }, nil, "the recording lasts 1m10s, the warm-up 1m0s"},
		{"no doctor", func(_ *Report, x *Experiment) { x.Examined = false }, nil, "has no answers of the doctor"},
		{"a failed check", func(_ *Report, x *Experiment) { x.Failed = []string{"clocksource"} }, nil, "cannot be believed: clocksource"},
		{"lost records", func(_ *Report, x *Experiment) { x.Unrecorded = 7 }, nil, "7 records did not get into the recording"},
		{"dropped gaps", func(_ *Report, x *Experiment) { p := *x.Probes[0]; p.Gaps.Dropped = 3; x.Probes = []*Probed{&p} }, nil, "the probes had no room for 3 gaps"},
		{"no end", func(_ *Report, x *Experiment) { x.Ended = false }, nil, "has no end, since a crash cut it off or it goes on still: what came after its first 1m10s is missing"},
		{"no probe", func(_ *Report, x *Experiment) { x.Probes = nil }, nil, "nobody probed the machine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, x := *whole, *whole.Experiment
			x.Targets, r.Experiment = []recording.Target{goTarget()}, &x
			tt.change(&r, &x)
			x.judge(&r, tt.claim)
			if got := x.NotReproducible; len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("not reproducible: %q, want only %q", got, tt.want)
			}
		})
	}
}

// TestWarmupOfEachTarget: a process that appears in the middle brings a warm-up
// of its own, and one to which a session was opened again does not.
func TestWarmupOfEachTarget(t *testing.T) {
	tests := []struct {
		name   string
		at     []time.Duration // it was told of, after the beginning
		warmup time.Duration
		want   []string
	}{
		{"at once", []time.Duration{lateTarget}, warmup, nil},
		{"late", []time.Duration{50 * time.Second}, warmup, []string{"process 42 was first seen 50s after the beginning: its own warm-up of 1m0s ends within the results"}},
		{"late, and no warm-up is asked for", []time.Duration{50 * time.Second}, 0, nil},
		{"again", []time.Duration{0, 50 * time.Second}, warmup, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			whole := experiment(10_000)
			list := []recording.Record{whole[0]}
			for _, at := range tt.at {
				v := goTarget()
				v.At = begin.Add(at)
				list = append(list, v)
			}
			list = append(list, whole[2:]...)
			r := readExperiment(t, list, Options{Warmup: tt.warmup})
			if diff := cmp.Diff(tt.want, r.Experiment.NotReproducible); diff != "" {
				t.Errorf("not reproducible (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheWarmupIsOver holds to it that nothing is left of a recording that is
// shorter than the warm-up, and that an option names a workload.
func TestTheWarmupIsOver(t *testing.T) {
	list := experiment(3)
	e := list[0].(recording.Environment)
	e.Workload = ""
	list[0] = e
	r := readExperiment(t, list, Options{Warmup: DefaultWarmup, Workload: "named later"})
	if len(r.Collections) > 0 || r.Experiment.Probes[0].Gaps.Total > 0 || !r.Experiment.Results.Empty() {
		t.Errorf("%d collections, %d gaps, results %+v, want none", len(r.Collections), r.Experiment.Probes[0].Gaps.Total, r.Experiment.Results)
	}
	want := []string{"the recording lasts 1m0s, the warm-up 30m0s: no results are left"}
	if diff := cmp.Diff(want, r.Experiment.NotReproducible); diff != "" {
		t.Errorf("not reproducible (-want +got):\n%s", diff)
	}
}

// TestCutRecording holds to it that what was whole counts, and the rest is said
// to be missing.
func TestCutRecording(t *testing.T) {
	data, err := os.ReadFile(write(t, experiment(8)))
	if err != nil {
		t.Fatal(err)
	}
	reported := 0
	for n := 0; n < len(data); n += 13 {
		r, err := Read("cut", bytes.NewReader(data[:n]), Options{Warmup: warmup})
		if (r == nil) == (err == nil) {
			t.Fatalf("cut to %d of %d bytes: report %v, error %v, want one of them", n, len(data), r != nil, err)
		}
		if r == nil {
			continue
		}
		reported++
		if len(r.Incomplete) != 1 || !strings.Contains(r.Incomplete[0].Why, "cut off") {
			t.Fatalf("cut to %d bytes: incomplete %+v", n, r.Incomplete)
		}
	}
	if reported < len(data)/13/2 {
		t.Errorf("%d of %d cuts reported", reported, len(data)/13)
	}
}
