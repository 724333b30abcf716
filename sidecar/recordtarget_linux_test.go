package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/dotnetipc/dotnettest"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/doctor"
	"github.com/otelgc/otelgc/sidecar/internal/report"
)

// TestRecordTarget records a real .NET process: the report has its runtime
// line, its pauses by kind, and why it is not to be done again.
func TestRecordTarget(t *testing.T) {
	server := dotnettest.Start(t, dotnettest.Options{Env: []string{"OTEL_SERVICE_NAME=shop", "DOTNET_GCgen0size=80000", "DOTNET_gcConcurrent=1"}})
	server.Initialize()
	file := filepath.Join(t.TempDir(), "x.rec")
	r := startSidecar(t, withoutExport, "run", "--board=off", "--mode=periodic", "--json",
		"--workload=lists", "--record", file, "--target", fmt.Sprint(server.PID()))
	r.await("it watches", func() bool { return strings.Contains(r.log(), "watching a .NET process") })
	for i := range 40 {
		server.List(i % 4 / 3 * 1_000_000)
	}
	if err := r.end(syscall.SIGTERM); err != nil {
		t.Fatalf("%v: %s", err, r.log())
	}
	run := one[struct {
		Targets []struct {
			Collections struct {
				Total uint64            `json:"total"`
				Kinds map[string]uint64 `json:"kinds"`
			} `json:"collections"`
			PauseTotal int64 `json:"pause_total"`
		} `json:"targets"`
	}](t, r.stdout.String())

	if checks := storedChecks(t, file); !slices.ContainsFunc(checks, func(c doctor.Check) bool { return strings.HasPrefix(c.ID, "target.") }) {
		t.Errorf("the doctor's answers do not tell of the target: %+v", checks)
	}

	stdout, stderr, code := sidecar(t, nil, "report", "--warmup=0s", "--json", file)
	if code != 3 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	d := one[report.Report](t, stdout)
	x := d.Experiment
	if x == nil || len(x.Targets) != 1 || len(run.Targets) != 1 || uint64(len(d.Collections)) != run.Targets[0].Collections.Total || len(d.Collections) == 0 {
		t.Fatalf("%d collections of %+v, the run saw %+v", len(d.Collections), x, run.Targets)
	}
	target := x.Targets[0]
	if target.PID != server.PID() || target.Name != "shop" || target.Runtime != "dotnet" {
		t.Errorf("target %+v", target)
	}
	facts := map[string]string{}
	for _, name := range []string{"flavor", "concurrent", "heap count", "heap layout", "latency mode", "ReadyToRun"} {
		facts[name] = target.Facts[name]
	}
	want := map[string]string{"flavor": "Workstation", "concurrent": "on", "heap count": "1", "heap layout": "regions", "latency mode": "Interactive", "ReadyToRun": "on"}
	if diff := cmp.Diff(want, facts); diff != "" || target.Facts["version"] == "" {
		t.Errorf("facts of %v (-want +got):\n%s", target.Facts, diff)
	}
	sum := x.Summaries[target.ID]
	if got := int64(sum.Pause); got != run.Targets[0].PauseTotal {
		t.Errorf("pauses: the report has %d ns, the run %d", got, run.Targets[0].PauseTotal)
	}
	if w := x.Watched[target.ID]; w.Until == 0 || w.Lost != 0 {
		t.Errorf("watched %+v, want some time and nothing lost", w)
	}
	if len(x.Hosts) != 1 || x.Hosts[0].PID != server.PID() || x.Hosts[0].Over <= 0 {
		t.Errorf("what the machine did to processes: %+v, want it of process %d", x.Hosts, server.PID())
	}
	kinds := map[string]uint64{}
	for i := range d.Collections {
		kinds[d.Collections[i].Kind.String()]++
	}
	if diff := cmp.Diff(run.Targets[0].Collections.Kinds, kinds); diff != "" || sum.Pauses["ephemeral"].Count == 0 {
		t.Errorf("collections by kind (-run +report):\n%s\npauses %+v, want some of kind ephemeral", diff, sum.Pauses)
	}

	stdout, _, _ = sidecar(t, nil, "report", "--warmup=0s", file)
	for _, want := range []string{
		"latency mode Interactive",
		fmt.Sprintf("runtime   process %d: dotnet: version ", server.PID()), "flavor Workstation; concurrent on; heap count 1",
		fmt.Sprintf("PROCESS %d shop", server.PID()), "ephemeral",
	} {
		if !strings.Contains(strings.Join(strings.Fields(stdout), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("the report lacks %q:\n%s", want, stdout)
		}
	}
}

// storedChecks are all of the doctor's answers in a recording.
func storedChecks(t *testing.T, path string) (checks []doctor.Check) {
	t.Helper()
	for _, record := range recordsOf(t, path) {
		answers, ok := record.(recording.Doctor)
		if !ok {
			continue
		}
		var report doctor.Report
		if err := json.Unmarshal(answers.RawMessage, &report); err != nil {
			t.Fatal(err)
		}
		checks = append(checks, report.Checks...)
	}
	if len(checks) == 0 {
		t.Fatal("no answers of the doctor")
	}
	return checks
}
