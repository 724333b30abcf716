package jitterprobe

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/jitterprobe/internal/spin"
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
	if !spin.Supported {
		t.Skip("this build has no assembly for the machine")
	}
	for _, test := range []struct {
		name  string
		spoil map[string]string
		cpus  int
		force bool
		want  string
	}{
		{"good", nil, 2, false, ""},
		{"one CPU", nil, 1, false, "one CPU"},
		{"one CPU, forced", nil, 1, true, ""},
		{"quota", map[string]string{"sys/fs/cgroup/pod/cpu.max": "50000 100000\n"}, 2, false, "quota of 0.5 CPUs in /sys/fs/cgroup/pod"},
		{"quota of the ancestor", map[string]string{"sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2, false, "quota of 1.5 CPUs in /sys/fs/cgroup"},
		{"quota, forced", map[string]string{"sys/fs/cgroup/pod/cpu.max": "50000 100000\n"}, 2, true, ""},
		{"another clock source", map[string]string{"sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet\n"}, 2, true, "clock source is hpet"},
		{"a counter that stops", map[string]string{"proc/cpuinfo": "flags: constant_tsc\n"}, 2, true, "lacks nonstop_tsc"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if runtime.GOARCH != "amd64" && test.spoil["proc/cpuinfo"] != "" {
				t.Skip("the flags are of amd64")
			}
			files := goodMachine()
			for name, text := range test.spoil {
				files[name] = text
			}
			err := obstacle(machine(t, files), Spin, test.cpus, test.force)
			if (test.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("obstacle: got %v, want %q", err, test.want)
			}
			if got, want := errors.Is(err, ErrQuota), strings.HasPrefix(test.want, "quota"); got != want {
				t.Errorf("obstacle: %v is of a quota: %v, want %v", err, got, want)
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
	want := "clock source"
	if !spin.Supported {
		want = "this build has no"
	}
	if p.Mode() != Periodic || p.Obstacle() == nil || !strings.Contains(p.Obstacle().Error(), want) || !strings.Contains(p.Note(), "periodic") {
		t.Errorf("got mode %v, note %q; want periodic and why", p.Mode(), p.Note())
	}
}
