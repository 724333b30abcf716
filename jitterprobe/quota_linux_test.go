package jitterprobe

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const joinVariable = "JITTERPROBE_TEST_JOIN"

// newCgroup makes a cgroup with a quota of half a CPU, in whichever hierarchy
// has the cpu controller.
func newCgroup(t *testing.T) (dir string) {
	t.Helper()
	name := fmt.Sprintf("otelgc-test-%d", os.Getpid())
	for _, try := range []struct{ mount, file, quota string }{
		{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "50000"},
		{"/sys/fs/cgroup/cpu,cpuacct", "cpu.cfs_quota_us", "50000"},
		{"/sys/fs/cgroup", "cpu.max", "50000 100000"},
	} {
		dir := filepath.Join(try.mount, name)
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		err := os.WriteFile(filepath.Join(dir, try.file), []byte(try.quota), 0o644)
		if err == nil {
			t.Cleanup(func() {
				if err := os.Remove(dir); err != nil {
					t.Error(err)
				}
			})
			return dir
		}
		_ = os.Remove(dir)
	}
	t.Skip("no cgroup hierarchy with the cpu controller in which this process may make a group: needs root")
	return ""
}

// A spinner under a real quota: refused, and forced.
func TestRefusesToSpinUnderAQuota(t *testing.T) {
	if dir := os.Getenv(joinVariable); dir != "" {
		inCgroup(dir)
		return
	}
	needSpin(t)
	if runtime.NumCPU() == 1 {
		t.Skip("skipped: on one CPU no probe spins, whatever its quota")
	}
	dir := newCgroup(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, "-test.run=^TestRefusesToSpinUnderAQuota$")
	c.Env = append(os.Environ(), joinVariable+"="+dir)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		"auto: periodic true cgroup quota of 0.5 CPUs in " + dir + ": periodic",
		"spin: periodic true cgroup quota of 0.5 CPUs in " + dir + ": periodic",
		"forced: spin false",
	} {
		if !strings.Contains(string(out), want+"\n") {
			t.Errorf("got %q, want a line %q", out, want)
		}
	}
}

// inCgroup is the child: it joins the cgroup and says what its probes do.
func inCgroup(dir string) {
	err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte("0"), 0o644)
	for name, o := range map[string]Options{"auto": {}, "spin": {Mode: Spin}, "forced": {Mode: Spin, Force: true}} {
		p, startErr := Start(o)
		if err = errors.Join(err, startErr); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		s := p.Stop()
		fmt.Println(strings.TrimSpace(fmt.Sprintln(name+":", s.Mode, errors.Is(p.Obstacle(), ErrQuota), s.Note)))
	}
}
