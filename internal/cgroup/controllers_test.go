package cgroup

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/otelgc/otelgc/internal/proc"
)

// TestOtherControllers: each has a hierarchy of its own in v1, and a process a
// place in each.
func TestOtherControllers(t *testing.T) {
	root := tree("4:cpuset:/c/d\n2:cpu,cpuacct:/p\n1:name=systemd:/s\n0::/u/v\n", mountV1+mountV2, map[string]string{
		"sys/fs/cgroup/cpuset/c/cpuset.effective_cpus": "0-3\n",
	})
	for name, want := range map[string][]string{
		"cpu":    {"sys/fs/cgroup/cpu,cpuacct/p", "sys/fs/cgroup/cpu,cpuacct"},
		"cpuset": {"sys/fs/cgroup/cpuset/c/d", "sys/fs/cgroup/cpuset/c", "sys/fs/cgroup/cpuset"},
		"":       {"sys/fs/cgroup/u/v", "sys/fs/cgroup/u", "sys/fs/cgroup"},
		"memory": {"sys/fs/cgroup/u/v", "sys/fs/cgroup/u", "sys/fs/cgroup"},
	} {
		groups, err := withController(root, "7", name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, g := range groups {
			got = append(got, g.Dir)
			if v1 := name == "cpu" || name == "cpuset"; g.V2 == v1 {
				t.Errorf("%q: %s is of v2: %v", name, g.Dir, g.V2)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", name, diff)
		}
	}
	list, file, err := CPUs(root, "7")
	if list != "0-3" || file != "sys/fs/cgroup/cpuset/c/cpuset.effective_cpus" || err != nil {
		t.Errorf("CPUs: got %q of %q, %v", list, file, err)
	}
	root[file] = &fstest.MapFile{Data: make([]byte, proc.MaxFile+1)}
	if list, file, err = CPUs(root, "7"); err == nil || list != "" || file != "" {
		t.Errorf("CPUs of a file that is too long: got %q of %q, %v, want an error alone", list, file, err)
	}
}

func TestInodesOfThisMachine(t *testing.T) {
	root := os.DirFS("/")
	groups, err := Of(root, "self")
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) == 0 {
		t.Skip("no cgroup with the cpu controller is mounted here")
	}
	for _, g := range groups {
		info, err := os.Stat("/" + g.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Inode(root); got == 0 && info.IsDir() {
			t.Errorf("inode of %s: got 0", g.Dir)
		}
	}
}
