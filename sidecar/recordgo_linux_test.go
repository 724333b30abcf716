package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/gouprobe"
	reports "github.com/otelgc/otelgc/sidecar/internal/report"
)

// TestRecordGoTarget records a Go process that knows nothing of it: the report has its
// runtime line, what the machine did to it and its collections. Without the rights for
// these it says why they are missing, and refuses to say of collections what nobody watched.
func TestRecordGoTarget(t *testing.T) {
	const nobody = 65534
	for _, test := range []struct {
		name             string
		user             *syscall.Credential
		ended, unwatched string
	}{
		{"with rights", nil, "asked to end", ""},
		{"without", &syscall.Credential{Uid: nobody, Gid: nobody}, "it is a Go program", "permission denied (needs CAP_BPF and CAP_PERFMON; see otelgc-sidecar doctor)"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := gouprobe.Supported(); err != nil || os.Geteuid() != 0 {
				t.Skip("want root, and ", err)
			}
			recordGoTarget(t, test.user, test.ended, test.unwatched)
		})
	}
}

func recordGoTarget(t *testing.T, user *syscall.Credential, ended, unwatched string) {
	dir := t.TempDir()
	err := errors.Join(os.Chmod(filepath.Dir(binary), 0o755), os.Chmod(dir, 0o777), os.Chmod(filepath.Dir(dir), 0o755)) // so that anybody can run and write
	if err != nil {
		t.Fatal(err)
	}
	target := exec.CommandContext(t.Context(), binary, "probe", "--mode=periodic", "--duration=1h")
	target.Env = append(os.Environ(), "GOGC=77", "GOMAXPROCS=2", "OTEL_SERVICE_NAME=orders", "TOKEN=do-not-keep")
	target.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	if err := target.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = target.Process.Kill()
		_ = target.Wait() // it was killed
	}()
	file := filepath.Join(dir, "x.rec")
	cmd := exec.CommandContext(t.Context(), binary, "run", "--board=off", "--mode=periodic", "--threshold=100us", "--json",
		"--workload=none", "--duration=2500ms", "--record", file, "--target", fmt.Sprint(target.Process.Pid))
	cmd.Env = append(os.Environ(), withoutExport...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	var log strings.Builder
	cmd.Stderr = &log
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &log)
	}
	run := one[struct {
		Targets []struct{ Service, Runtime, Source, Why string }
		Gaps    []struct{ CPU *int }
		CPU     *int
	}](t, string(stdout))
	if len(run.Targets) != 1 || run.Targets[0].Service != "orders" || !strings.HasPrefix(run.Targets[0].Runtime, "go1.") || !strings.Contains(run.Targets[0].Why, ended) {
		t.Errorf("targets of the run: %+v, want a Go program called orders, and %q", run.Targets, ended)
	}
	if got := strings.Count(log.String(), "needs CAP_BPF and CAP_PERFMON"); unwatched == "" && got != 0 || unwatched != "" && got != 1 {
		t.Errorf("the log says of rights %d times:\n%s", got, &log)
	}
	for _, g := range run.Gaps {
		if g.CPU == nil || run.CPU == nil || *g.CPU != *run.CPU {
			t.Fatalf("a gap of CPU %v, want that of the only probe, %v", g.CPU, run.CPU)
		}
	}

	report, stderr, code := sidecar(t, nil, "report", "--warmup=0s", "--json", file)
	lacks := fmt.Sprintf("the collections of process %d were not watched: it is a Go program, whose collections cannot be watched from here: attach to process %d: %s", target.Process.Pid, target.Process.Pid, unwatched)
	if code != 3 || strings.Contains(stderr, lacks) != (unwatched != "") || strings.Contains(stderr, "unknown") {
		t.Errorf("exit %d, stderr %q, want exit 3, %q only where it is so, and nothing unknown", code, stderr, lacks)
	}
	x := one[reports.Report](t, report).Experiment
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
