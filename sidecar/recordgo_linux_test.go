package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/report"
)

// TestRecordGoTarget records a Go process that knows nothing of it: the report has
// its runtime line, what the machine did to it, and refuses to say of collections
// what nobody watched.
func TestRecordGoTarget(t *testing.T) {
	target := exec.CommandContext(t.Context(), binary, "probe", "--mode=periodic", "--duration=1h")
	target.Env = append(os.Environ(), "GOGC=77", "GOMAXPROCS=2", "OTEL_SERVICE_NAME=orders", "TOKEN=do-not-keep")
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = target.Process.Kill()
		_ = target.Wait() // it was killed
	}()
	file := filepath.Join(t.TempDir(), "x.rec")
	stdout, stderr, code := sidecar(t, withoutExport, "run", "--board=off", "--mode=periodic", "--threshold=100us", "--json",
		"--workload=none", "--duration=2500ms", "--record", file, "--target", fmt.Sprint(target.Process.Pid))
	if code != 0 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	run := one[struct {
		Targets []struct{ Service, Runtime, Why string }
		Gaps    []struct{ CPU *int }
		CPU     *int
	}](t, stdout)
	if len(run.Targets) != 1 || run.Targets[0].Service != "orders" || !strings.HasPrefix(run.Targets[0].Runtime, "go1.") || !strings.Contains(run.Targets[0].Why, "it is a Go program") {
		t.Errorf("targets of the run: %+v, want a Go program called orders", run.Targets)
	}
	for _, g := range run.Gaps {
		if g.CPU == nil || run.CPU == nil || *g.CPU != *run.CPU {
			t.Fatalf("a gap of CPU %v, want that of the only probe, %v", g.CPU, run.CPU)
		}
	}

	stdout, stderr, code = sidecar(t, nil, "report", "--warmup=0s", "--json", file)
	if want := fmt.Sprintf("the collections of process %d were not watched: it is a Go program", target.Process.Pid); code != 3 || !strings.Contains(stderr, want) || strings.Contains(stderr, "unknown") {
		t.Errorf("exit %d, stderr %q, want exit 3 and %q, and nothing unknown", code, stderr, want)
	}
	x := one[report.Report](t, stdout).Experiment
	if x == nil || len(x.Targets) != 1 {
		t.Fatalf("experiment %+v, want one runtime", x)
	}
	facts := x.Targets[0].Facts
	got := map[string]string{"GOGC": facts["GOGC"], "GOMEMLIMIT": facts["GOMEMLIMIT"], "GOMAXPROCS": facts["GOMAXPROCS"]}
	want := map[string]string{"GOGC": "77 as started", "GOMEMLIMIT": "off as started", "GOMAXPROCS": "2 as started"}
	if diff := cmp.Diff(want, got); diff != "" || facts["version"] == "" || !strings.Contains(facts["build"], "github.com/otelgc/otelgc/sidecar") {
		t.Errorf("facts of %v (-want +got):\n%s", facts, diff)
	}
	if len(x.Hosts) != 1 || x.Hosts[0].PID != target.Process.Pid {
		t.Errorf("what the machine did to processes: %+v, want it of process %d", x.Hosts, target.Process.Pid)
	}
	if len(x.Unexamined) != 0 {
		t.Errorf("the doctor was not asked about %v", x.Unexamined)
	}
	recording, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(recording), "do-not-keep") {
		t.Error("the recording holds a variable that is no setting of the runtime")
	}
}
