package jitterprobe

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/jitterprobe/internal/rawspin"
)

// machine writes files below a new root.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func goodMachine() map[string]string {
	source := "tsc\n"
	if runtime.GOARCH == "arm64" {
		source = "arch_sys_counter\n"
	}
	return map[string]string{
		"sys/devices/system/clocksource/clocksource0/current_clocksource": source,
		"proc/cpuinfo":         "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc\n",
		"proc/self/cgroup":     "0::/pod\n",
		"proc/self/mountinfo":  "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/cgroup": "",
	}
}

func TestDegradesToPeriodicAndSaysWhy(t *testing.T) {
	if !rawspin.Supported {
		t.Skip("this build has no assembly for the machine")
	}
	for _, test := range []struct {
		name   string
		spoil  map[string]string
		cpus   int
		force  bool
		reason Reason
		want   string
	}{
		{"good", nil, 2, false, NoReason, ""},
		{"one CPU", nil, 1, false, OneCPU, "one CPU"},
		{"one CPU, forced", nil, 1, true, NoReason, ""},
		{"quota", map[string]string{"sys/fs/cgroup/pod/cpu.max": "50000 100000\n"}, 2, false, CPUQuota, "quota of 0.5 CPUs in /sys/fs/cgroup/pod"},
		{"quota of the ancestor", map[string]string{"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2, false, CPUQuota, "quota of 1.5 CPUs in /sys/fs/cgroup"},
		{"quota, forced", map[string]string{"sys/fs/cgroup/pod/cpu.max": "50000 100000\n"}, 2, true, NoReason, ""},
		{"another clock source", map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"}, 2, true, NoCounter, "clock source is hpet"},
		{"a counter that stops", map[string]string{"proc/cpuinfo": "flags: constant_tsc\n"}, 2, true, NoCounter, "lacks nonstop_tsc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if runtime.GOARCH != "amd64" && test.spoil["proc/cpuinfo"] != "" {
				t.Skip("the flags are of amd64")
			}
			files := goodMachine()
			for name, text := range test.spoil {
				files[name] = text
			}
			reason, got := obstacle(machine(t, files), Spin, test.cpus, test.force)
			if reason != test.reason || (test.want == "") != (got == "") || !strings.Contains(got, test.want) {
				t.Errorf("obstacle: got %v, %q, want %v, %q", reason, got, test.reason, test.want)
			}
		})
	}
}

func TestSlowMachineRunsPeriodic(t *testing.T) {
	p, err := startBelow(machine(t, nil), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	want := NoCounter
	if !rawspin.Supported {
		want = NoAssembly
	}
	if p.Mode() != Periodic || p.Reason() != want || !strings.Contains(p.Note(), "periodic") {
		t.Errorf("got mode %v, note %q; want periodic and why", p.Mode(), p.Note())
	}
}
