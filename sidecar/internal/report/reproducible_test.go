package report

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/stall/gc"
)

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
		{"collections that nobody watched", func(r *Report, x *Experiment) {
			r.Collections, x.Targets[0].Unwatched = nil, "it is a Go program"
		}, []gc.Kind{gc.Background}, "the collections of process 42 were not watched: it is a Go program"},
		{"a runtime that nobody knows", func(r *Report, x *Experiment) {
			r.Collections = nil
			x.Targets[0].Runtime, x.Targets[0].Facts, x.Targets[0].Unwatched = recording.UnknownRuntime, nil, "permission denied"
		}, nil, "the runtime of process 42 is unknown: permission denied"},
		{"another runtime", func(_ *Report, x *Experiment) { x.Targets[0].Runtime = "jvm" }, nil, `the runtime "jvm" of process 42 is not known`},
		{"no target", func(_ *Report, x *Experiment) { x.Targets = nil }, nil, `the line "runtime" is missing`},
		{"no collection", func(r *Report, _ *Experiment) { r.Collections = nil }, nil, "no collection occurred in process 42"},
		{"a kind that did not occur", func(*Report, *Experiment) {}, []gc.Kind{gc.FullBlocking}, "no collection of kind full_blocking occurred in process 42"},
		{"few pauses", func(r *Report, _ *Experiment) { r.Collections = r.Collections[1:] }, nil, "9,999 pauses of kind background in process 42 are too few for p99.9"},
		{"short", func(_ *Report, x *Experiment) { x.Start = x.End }, nil, "the recording lasts 1m10s, the warm-up 1m0s"},
		{"no doctor", func(_ *Report, x *Experiment) { x.Examined = false }, nil, "has no answers of the doctor"},
		{"a failed check", func(_ *Report, x *Experiment) { x.Failed = []string{"clocksource"} }, nil, "cannot be believed: clocksource"},
		{"lost records", func(_ *Report, x *Experiment) { x.unrecorded = 7 }, nil, "7 records did not get into the recording"},
		{"dropped gaps", func(_ *Report, x *Experiment) { p := *x.Probes[0]; p.Gaps.Dropped = 3; x.Probes = []*Probe{&p} }, nil, "the probes had no room for 3 gaps"},
		{"lost events", func(_ *Report, x *Experiment) { x.Watched = map[int]*Watched{1: {Until: x.End, Lost: 12}} }, nil, "12 events of process 42 were lost: pauses may be missing"},
		{"unwatched time", func(_ *Report, x *Experiment) {
			x.Watched = map[int]*Watched{1: {Until: x.End, Unseen: 1500 * time.Millisecond}}
		}, nil, "process 42 was not watched for 1.50 s of the results"},
		{"a process that ended", func(_ *Report, x *Experiment) {
			x.Watched = map[int]*Watched{1: {Until: x.End.Add(-7 * time.Second)}}
		}, nil, "process 42 was watched until 7s before the end only"},
		{"watched to the end", func(_ *Report, x *Experiment) {
			x.Watched = map[int]*Watched{1: {Until: x.End.Add(-time.Second)}}
			x.Workload = ""
		}, nil, "workload"},
		{"too much for a report", func(r *Report, _ *Experiment) { r.left.collections = 3 }, nil, "3 collections and stops are more than a report holds"},
		{"no end", func(_ *Report, x *Experiment) { x.ended = false }, nil, "has no end, since a crash or a full disk cut it off, or it goes on still: what came after its first 1m10s is missing"},
		{"no probe", func(_ *Report, x *Experiment) { x.Probes = nil }, nil, "no probe watched the machine"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, x := *whole, *whole.Experiment
			x.Targets, r.Experiment = []recording.Target{goTarget()}, &x
			tt.change(&r, &x)
			x.check(&r, tt.claim)
			if got := x.NotReproducible; len(got) != 1 || !strings.Contains(got[0], tt.want) {
				t.Errorf("not reproducible: %q, want only %q", got, tt.want)
			}
		})
	}
}

// TestCutInWarmup: that nothing is left of the results hides nothing that is wrong
// with the recording as a whole.
func TestCutInWarmup(t *testing.T) {
	whole := readExperiment(t, experiment(10_000), Options{Warmup: warmup})
	x := *whole.Experiment
	x.NotReproducible, x.Targets = nil, []recording.Target{goTarget()}
	x.Start, x.ended, x.unrecorded, x.Failed = x.End, false, 7, []string{"clocksource"}
	x.check(whole, nil)
	want := []string{
		"the recording lasts 1m10s, the warm-up 1m0s: no results are left",
		"the recording has no end, since a crash or a full disk cut it off, or it goes on still: what came after its first 1m10s is missing",
		"7 records did not get into the recording",
		"the doctor says that numbers of this machine cannot be believed: clocksource",
	}
	if diff := cmp.Diff(want, x.NotReproducible, compareMaybe); diff != "" {
		t.Errorf("not reproducible (-want +got):\n%s", diff)
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
			if diff := cmp.Diff(tt.want, r.Experiment.NotReproducible, compareMaybe); diff != "" {
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
	if len(r.Collections) > 0 || r.Experiment.Probes[0].Gaps.Total > 0 || !r.Experiment.Span.Empty() {
		t.Errorf("%d collections, %d gaps, results %+v, want none", len(r.Collections), r.Experiment.Probes[0].Gaps.Total, r.Experiment.Span)
	}
	want := []string{"the recording lasts 1m0s, the warm-up 30m0s: no results are left"}
	if diff := cmp.Diff(want, r.Experiment.NotReproducible, compareMaybe); diff != "" {
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
