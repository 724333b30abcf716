package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/gaps"
	"github.com/otelgc/otelgc/sidecar/internal/goldentest"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

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
	want := gaps.Recorded{
		Observed: 10 * time.Second, Total: 2000, Time: 1000 * 63 * time.Microsecond, Max: 60 * time.Microsecond,
		Counts:    map[string]uint64{"2us": 2000, "10us": 1000, "50us": 1000, "100us": 0, "1ms": 0},
		Causes:    map[stall.Cause]uint64{stall.HostUnknown: 1000, stall.HostPreempted: 1000},
		Evidence:  map[string]uint64{"none": 1000, "switch_record": 1000},
		Histogram: map[int]uint64{11: 1000, 15: 1000}, Long: 1000, Overlapping: 1000,
	}
	for i := range 5 { // all are as long: the first ones stay
		start := after.Add(time.Duration(10*i)*time.Millisecond + 10*time.Microsecond)
		want.Longest = append(want.Longest, gaps.Gap{Span: stall.Span{Start: start, End: start.Add(60 * time.Microsecond)}, Cause: stall.HostUnknown, Scope: stall.ScopeCPU})
	}
	// Pauses of 149.5 us on average each ms, gaps of 60 us: 20.95 % meet by chance.
	if d := g.Expected - 209.5; d < -0.5 || d > 0.5 {
		t.Errorf("%v gaps overlap by chance, want 209.5", g.Expected)
	}
	g.Expected = 0
	if diff := cmp.Diff(want, g, compareMaybe, cmpopts.IgnoreUnexported(gaps.Recorded{})); diff != "" {
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
			inside[i] = g
		}
	}
	poor := []recording.Record{
		recording.Environment{Recorder: "otelgc-sidecar v0.3.0", Started: place().Started, At: begin},
		recording.Probe{ID: 1, Mode: "periodic", CPU: -1, Floor: 100 * time.Microsecond, Note: "one CPU: periodic"},
		recording.Target{ID: 1, PID: 42, Runtime: "dotnet", Facts: map[string]string{"version": "10.0.9", "flavor": "Workstation", "concurrent": "Unknown: its threads are gone"}},
		recording.Doctor{RawMessage: json.RawMessage(`{"checks":[{"id":"quota","status":"fail"},{"id":"steal","status":"warn","value":"0.5 % since boot"}]}`)},
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
			doc, err := json.MarshalIndent(r.Experiment, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name+".json", append(doc, '\n'), *update)
		})
	}
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
			v.Pauses = slices.Clone(v.Pauses)
			v.Pauses[0].Slack = 450 * time.Microsecond
			list[i] = v
		}
	}
	g := readExperiment(t, list, Options{Warmup: warmup}).Experiment.Probes[0].Gaps
	if g.Long != 2 || g.Overlapping != 0 || g.GC != gc.Known(1.0) || !g.AtMost {
		t.Errorf("%d long gaps, %d in a pause, a share of %v may be one, at most %v; want 2, 0, 1, true", g.Long, g.Overlapping, g.GC, g.AtMost)
	}
}
