package doctor

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/otelgc/otelgc/internal/proc"
	"github.com/otelgc/otelgc/jitterprobe"
)

// verdict is what a check is to say: parts of its value and of its advice.
type verdict struct {
	status        Status
	value, advice string
}

func (v verdict) check(t *testing.T, c Check) {
	t.Helper()
	if c.Status != v.status || !strings.Contains(c.Value, v.value) || !strings.Contains(c.Advice, v.advice) || (v.advice == "") != (c.Advice == "") {
		t.Errorf("got %+v, want %s of %q with advice %q", c, v.status, v.value, v.advice)
	}
}

// checkOf returns the result of one check.
func checkOf(t *testing.T, m *machine, id string) Check {
	t.Helper()
	for _, checks := range [][]check{cpuChecks, kernelChecks, memoryChecks, rightsChecks, targetChecks} {
		for _, c := range checks {
			if c.id == id {
				return m.appendChecks(nil, []check{c})[0]
			}
		}
	}
	t.Fatalf("no check %s", id)
	return Check{}
}

// filesOf makes a file system of names and texts in turns.
func filesOf(list ...string) fstest.MapFS {
	files := fstest.MapFS{"empty": {}}
	for i := 0; i < len(list); i += 2 {
		files[list[i]] = &fstest.MapFile{Data: []byte(list[i+1])}
	}
	return files
}

// TestCpusetOfTheCgroup: by the nearest cgroup that says, of v1 and v2.
func TestCpusetOfTheCgroup(t *testing.T) {
	const v1 = "31 20 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
	const v2 = "30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for _, test := range []struct {
		name, cgroup, mounts, file, list string
		want                             verdict
	}{
		{"v2", "0::/a/b\n", v2, "sys/fs/cgroup/a/b/cpuset.cpus.effective", "0-3\n", verdict{OK, "0-3", ""}},
		{"v2, an ancestor", "0::/a/b\n", v2, "sys/fs/cgroup/cpuset.cpus.effective", "2-3\n", verdict{OK, "2-3", ""}},
		{"v2, without it", "0::/a\n", v2, "sys/fs/cgroup/a/cpuset.cpus.effective", "0-2\n", verdict{Fail, "0-2, without CPU 3", "taskset cannot give the probe that CPU"}},
		{"v1", "3:cpuset:/x\n2:cpu:/y\n0::/\n", v1 + v2, "sys/fs/cgroup/cpuset/x/cpuset.effective_cpus", "3\n", verdict{OK, "3", ""}},
		{"v1, without it", "3:cpuset:/x\n0::/\n", v1 + v2, "sys/fs/cgroup/cpuset/x/cpuset.effective_cpus", "0\n", verdict{Fail, "0, without CPU 3", "widen cpuset.cpus"}},
		{"no controller", "0::/a\n", v2, "x", "", verdict{NA, "no cgroup with the cpuset controller", ""}},
		{"nothing in it", "0::/a\n", v2, "sys/fs/cgroup/a/cpuset.cpus.effective", "\n", verdict{NA, "empty", ""}},
		{"nonsense", "0::/a\n", v2, "sys/fs/cgroup/a/cpuset.cpus.effective", "all\n", verdict{NA, "is not a CPU below 8192", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := filesOf("proc/self/cgroup", test.cgroup, "proc/self/mountinfo", test.mounts, test.file, test.list)
			m := &machine{root: root{files}, cpu: 3}
			c := checkOf(t, m, "cpuset.cgroup")
			test.want.check(t, c)
			if c.Status != NA && c.File != "/"+test.file {
				t.Errorf("file: got %s, want /%s", c.File, test.file)
			}
		})
	}
}

// TestSiblings: an idle one is good, a busy one is not, and a spinner has no place
// beside the service.
func TestSiblings(t *testing.T) {
	const (
		list  = "sys/devices/system/cpu/cpu3/topology/thread_siblings_list"
		quiet = "cpu1 0 0 0 100 0 0 0 0\n"
		later = "cpu1 0 0 0 300 0 0 0 0\n"
		busy  = "cpu1 50 0 10 230 10 0 0 0\n"
	)
	neighbour := []thread{{proc.Stat{Name: "other", State: "R", LastCPU: 1}, 5}}
	asleep := []thread{{proc.Stat{Name: "other", State: "S", LastCPU: 1}, 5}}
	for _, test := range []struct {
		name          string
		mode          jitterprobe.Mode
		before, after string // of the self-test, none if there was none
		threads       []thread
		target        string // its CPUs, if there is one
		want          verdict
	}{
		{"idle in the self-test", jitterprobe.Spin, quiet, later, neighbour, "", verdict{Info, "shares its core with 1, busy 0 % of the self-test", "keep the service off it"}},
		{"busy in the self-test", jitterprobe.Spin, quiet, busy, asleep, "", verdict{Warn, "busy 30 % of the self-test", "choose another --cpu"}},
		{"idle now", jitterprobe.Spin, "", "", asleep, "", verdict{Info, "idle now", "keep the service off it"}},
		{"busy now", jitterprobe.Periodic, "", "", neighbour, "", verdict{Warn, "where other (5) runs", "keep work off both"}},
		{"nobody knows", jitterprobe.Spin, "", "", nil, "", verdict{Warn, "shares its core with 1", "keep the service off both"}},
		{"the target may run there", jitterprobe.Spin, quiet, later, asleep, "0-2", verdict{Warn, "which the target may use", "taskset the target to other cores"}},
		{"the target may not", jitterprobe.Spin, quiet, later, asleep, "0,2", verdict{Info, "busy 0 %", "keep the service off it"}},
		{"the target, beside a probe that sleeps", jitterprobe.Periodic, quiet, later, asleep, "0-2", verdict{Info, "busy 0 %", "keep the service off it"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := filesOf(list, "1,3\n", "proc/stat", test.before, "sys/devices/system/cpu/smt/active", "1\n")
			m := &machine{root: root{files}, mode: test.mode, cpu: 3, threads: test.threads}
			if test.before != "" {
				m.trial = new(jitterprobe.Trial)
			}
			if test.target != "" {
				m.target = 77
				files["proc/77/status"] = &fstest.MapFile{Data: []byte("Cpus_allowed_list:\t" + test.target + "\n")}
			}
			m.before = m.count()
			files["proc/stat"] = &fstest.MapFile{Data: []byte(test.after)}
			m.after = m.count()
			test.want.check(t, checkOf(t, m, "cpu.siblings"))
		})
	}
	off := &machine{root: root{filesOf(list, "3\n", "sys/devices/system/cpu/smt/active", "0\n")}, cpu: 3}
	verdict{OK, "none, SMT is off", ""}.check(t, checkOf(t, off, "cpu.siblings"))
}

// TestNodeOfTheProbe: its memory belongs on the node of its CPU.
func TestNodeOfTheProbe(t *testing.T) {
	two := []string{nodes + "online", "0-1\n", nodes + "node0/cpulist", "0-1\n", nodes + "node1/cpulist", "2-3\n"}
	for _, test := range []struct {
		name    string
		files   []string
		memory  string
		allowed []int
		want    verdict
	}{
		{"no nodes", nil, "0", []int{3}, verdict{NA, "no such file", ""}},
		{"one node", []string{nodes + "online", "0\n"}, "0", []int{3}, verdict{OK, "one node", ""}},
		{"all of it on one", two, "0-1", []int{2, 3}, verdict{OK, "CPU 3 on node 1, with its memory", ""}},
		{"bound to its memory", two, "1", []int{0, 1, 2, 3}, verdict{OK, "with its memory", ""}},
		{"anywhere", two, "0-1", []int{0, 3}, verdict{Info, "CPU 3 on node 1, its memory on any of 0-1", "--cpunodebind=1"}},
		{"elsewhere", two, "0", []int{3}, verdict{Warn, "CPU 3 on node 1, its memory on 0", "widen cpuset.mems"}},
		{"not said", two, "", []int{3}, verdict{NA, "no Mems_allowed_list", ""}},
		{"of no node", two[:4], "0-1", []int{3}, verdict{NA, "no node has CPU 3", ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &machine{root: root{filesOf(test.files...)}, cpu: 3, allowed: test.allowed, status: "Mems_allowed_list:\t" + test.memory + "\n"}
			test.want.check(t, checkOf(t, m, "numa.node"))
		})
	}
}
