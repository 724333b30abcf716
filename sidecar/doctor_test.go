package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/sidecar/internal/doctor"
)

func TestDoctor(t *testing.T) {
	stdout, stderr, code := sidecar(t, nil, "doctor", "--json", "--self-test", "300ms", "--target", fmt.Sprint(os.Getpid()))
	doc := one[doctor.Report](t, stdout)
	failed := doc.Failed()
	if want := map[bool]int{true: 0, false: 3}[len(failed) == 0]; code != want {
		t.Fatalf("exit %d, want %d with %v failed: %s", code, want, failed, stderr)
	}
	if doc.Schema != "otelgc.doctor/1" || len(doc.Checks) < 40 || len(doc.Decidable) == 0 {
		t.Errorf("schema %q, %d checks, decidable %v", doc.Schema, len(doc.Checks), doc.Decidable)
	}

	stdout, stderr, code = sidecar(t, nil, "doctor", "--mode", "periodic", "--self-test", "0")
	if code != 0 && code != 3 {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if !strings.Contains(stdout, "CAN NUMBERS FROM THIS MACHINE BE BELIEVED?") || strings.Contains(stdout, "\x1b") || strings.Contains(stdout, "selftest") {
		t.Errorf("table of mode periodic without self-test:\n%s", stdout)
	}
}

func TestDoctorOfNobody(t *testing.T) {
	stdout, stderr, code := sidecar(t, nil, "doctor", "--target", "4194305")
	if code != 2 || stdout != "" || !strings.Contains(stderr, "target 4194305") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit %d, stdout %q, stderr %q, want exit 2 and one line about the target", code, stdout, stderr)
	}
}

// TestDoctorUnderAQuota runs the doctor in a cgroup that has a quota.
func TestDoctorUnderAQuota(t *testing.T) {
	procs := makeQuota(t)
	in := func(args ...string) (string, int) {
		// The shell enters the cgroup, and becomes the sidecar.
		cmd := exec.CommandContext(t.Context(), "sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, procs, binary}, args...)...)
		out, err := cmd.CombinedOutput()
		if err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	if out, code := in("doctor", "--self-test", "0"); code != 3 || !strings.Contains(out, "FAIL  cgroup.quota") {
		t.Errorf("spin under a quota: exit %d, want 3 and a failed check:\n%s", code, out)
	}
	if out, code := in("doctor", "--self-test", "0", "--mode", "periodic"); code != 0 || !strings.Contains(out, "info  cgroup.quota") {
		t.Errorf("periodic under a quota: exit %d, want 0:\n%s", code, out)
	}
}

// makeQuota makes a cgroup of half a CPU, and returns the file by which a
// process enters it.
func makeQuota(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot make a cgroup")
	}
	for _, top := range []string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup"} {
		dir := filepath.Join(top, fmt.Sprintf("otelgc-test-%d", os.Getpid()))
		if err := os.Mkdir(dir, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(dir) })
		limit, value := "cpu.cfs_quota_us", "50000"
		if _, err := os.Stat(filepath.Join(dir, limit)); err != nil {
			limit, value = "cpu.max", "50000 100000"
		}
		if err := os.WriteFile(filepath.Join(dir, limit), []byte(value), 0); err == nil {
			return filepath.Join(dir, "cgroup.procs")
		}
		_ = os.Remove(dir)
	}
	t.Skip("no cgroup with the cpu controller can be made here")
	return ""
}
