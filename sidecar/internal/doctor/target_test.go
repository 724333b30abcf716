package doctor

import (
	"testing"
	"testing/fstest"

	"github.com/otelgc/otelgc/internal/goprogram"
	"github.com/otelgc/otelgc/jitterprobe"
)

// TestMaxProcs: the target's GOMAXPROCS against its CPUs, its quota, and a
// spinner on the one or under the other.
func TestMaxProcs(t *testing.T) {
	const mounts = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for _, test := range []struct {
		name        string
		mode        jitterprobe.Mode
		own         string // cgroup of the probe
		cpus, quota string
		procs       string // GOMAXPROCS, if it is set
		want        verdict
	}{
		{"as many as CPUs", jitterprobe.Periodic, "/a", "0-3", "", "", verdict{OK, "4 as started, 4 CPUs", ""}},
		{"the spinner is elsewhere", jitterprobe.Spin, "/a", "0-2", "", "", verdict{OK, "3 as started, 3 CPUs", ""}},
		{"the spinner is on one of them", jitterprobe.Spin, "/a", "0-3", "", "", verdict{Warn, "4 as started", "leaves 3 CPUs for 4 Ps: a P without a CPU holds up every stop of the world; set GOMAXPROCS=3"}},
		{"and one is left", jitterprobe.Spin, "/a", "0-3", "", "3", verdict{OK, "3 as started", ""}},
		{"on the only one", jitterprobe.Spin, "/a", "3", "", "", verdict{Warn, "1 as started, 1 CPU", "set GOMAXPROCS=1"}},
		{"more than CPUs", jitterprobe.Periodic, "/a", "0-3", "", "16", verdict{Warn, "16 as started", "set GOMAXPROCS=4"}},
		{"the quota, as Go 1.25 does", jitterprobe.Periodic, "/a", "0-3", "200000 100000", "", verdict{OK, "2 as started, 4 CPUs, quota 2", ""}},
		{"a part of a CPU, rounded up", jitterprobe.Periodic, "/a", "0-3", "250000 100000", "", verdict{OK, "3 as started, 4 CPUs, quota 2.5", ""}},
		{"above the quota", jitterprobe.Periodic, "/a", "0-3", "200000 100000", "4", verdict{Warn, "quota 2", "use the quota up at once and are throttled in the midst of it: set GOMAXPROCS=2"}},
		{"a quota below what Go takes at least", jitterprobe.Periodic, "/a", "0-3", "50000 100000", "", verdict{Warn, "2 as started, 4 CPUs, quota 0.5", "set GOMAXPROCS=1"}},
		{"the spinner uses the quota too", jitterprobe.Spin, "/b/probe", "0-2", "300000 100000", "", verdict{Warn, "quota 3", "the spinner uses up one CPU of that quota"}},
		{"and as much is left", jitterprobe.Spin, "/b/probe", "0-2", "300000 100000", "2", verdict{OK, "quota 3", ""}},
		{"a spinner under another quota", jitterprobe.Spin, "/a", "0-2", "300000 100000", "", verdict{OK, "quota 3", ""}},
		{"a quota that cannot be read", jitterprobe.Periodic, "/a", "0-3", "much", "", verdict{NA, "not set, and the quota that it follows from is not known", ""}},
		{"set, and a quota that cannot be read", jitterprobe.Periodic, "/a", "0-3", "much", "4", verdict{Info, "4 as started, 4 CPUs", "its quota is not known"}},
		{"CPUs that are not known", jitterprobe.Periodic, "/a", "", "", "", verdict{NA, "the CPUs of the target are not known", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := fstest.MapFS{
				"proc/self/cgroup":        {Data: []byte("0::" + test.own + "\n")},
				"proc/self/mountinfo":     {Data: []byte(mounts)},
				"proc/77/stat":            {Data: []byte("77 (orders) S 1\n")},
				"proc/77/status":          {Data: []byte("Cpus_allowed_list:\t" + test.cpus + "\n")},
				"proc/77/cgroup":          {Data: []byte("0::/b\n")},
				"sys/fs/cgroup/b/x":       {},
				"sys/fs/cgroup/b/cpu.max": {Data: []byte(test.quota)},
			}
			if test.quota == "" {
				delete(files, "sys/fs/cgroup/b/cpu.max")
			}
			cpu := 3
			m, err := newMachine(root{files}, "amd64", live{}, Options{Mode: test.mode, CPU: &cpu, Target: 77})
			if err != nil {
				t.Fatal(err)
			}
			p := &goprogram.Program{Version: "go1.26.8", Env: map[string]string{}}
			if test.procs != "" {
				p.Env["GOMAXPROCS"] = test.procs
			}
			m.process, m.processErr = p, nil
			test.want.check(t, checkOf(t, m, "target.gomaxprocs"))
		})
	}
}

// TestMaxProcsHeedsItsOwnCgroup: the runtime does not see the quota of an ancestor,
// and nobody sees that of another container.
func TestMaxProcsHeedsItsOwnCgroup(t *testing.T) {
	for _, test := range []struct {
		name, cgroup, online string
		want                 verdict
	}{
		{"its own", "/a", "0-7", verdict{OK, "2 as started, 4 CPUs, quota 2", ""}},
		{"its parent's", "/a/b", "0-7", verdict{Warn, "4 as started, 4 CPUs, quota 2", "set GOMAXPROCS=2"}},
		{"another container's", "/../a", "0-7", verdict{NA, "its cgroup cannot be seen from here", ""}},
		{"CPUs that could be added", "/c", "0-1", verdict{OK, "2 as started, 2 CPUs", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := fstest.MapFS{
				"proc/self/cgroup":              {Data: []byte("0::/\n")},
				"proc/self/mountinfo":           {Data: []byte("30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")},
				"proc/77/stat":                  {Data: []byte("77 (orders) S 1\n")},
				"proc/77/status":                {Data: []byte("Cpus_allowed_list:\t0-3\n")},
				"proc/77/cgroup":                {Data: []byte("0::" + test.cgroup + "\n")},
				"sys/fs/cgroup/a/cpu.max":       {Data: []byte("200000 100000")},
				"sys/fs/cgroup/a/b/cpu.max":     {Data: []byte("max 100000")},
				"sys/fs/cgroup/c/cpu.max":       {Data: []byte("max 100000")},
				"sys/devices/system/cpu/online": {Data: []byte(test.online + "\n")},
			}
			m, err := newMachine(root{files}, "amd64", live{}, Options{Mode: jitterprobe.Periodic, Target: 77})
			if err != nil {
				t.Fatal(err)
			}
			m.process, m.processErr = &goprogram.Program{Version: "go1.26.8"}, nil
			test.want.check(t, checkOf(t, m, "target.gomaxprocs"))
		})
	}
}
