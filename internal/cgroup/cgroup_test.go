package cgroup

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/otelgc/otelgc/internal/proc"
)

const (
	mountV2   = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
	mountV1   = "31 20 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n32 20 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	mountV1In = "32 20 0:28 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
)

// tree is a root for process 7, whose mounts are those of the reader.
func tree(cgroup, mounts string, files map[string]string) fstest.MapFS {
	root := fstest.MapFS{"x": {}}
	for name, text := range files {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	if cgroup != "" {
		root["proc/7/cgroup"] = &fstest.MapFile{Data: []byte(cgroup)}
		root["proc/self/mountinfo"] = &fstest.MapFile{Data: []byte(mounts)}
	}
	return root
}

func TestTightestQuota(t *testing.T) {
	for _, test := range []struct {
		name           string
		cgroup, mounts string
		files          map[string]string
		want           Quota
		fails          bool
	}{
		{name: "no cgroups"},
		{name: "not mounted", cgroup: "0::/a\n", mounts: "\n"},
		{
			name: "v2 without", cgroup: "0::/a\n", mounts: mountV2,
			files: map[string]string{"sys/fs/cgroup/a/cpu.max": "max 100000\n"},
		},
		{
			name: "v2 own", cgroup: "0::/a\n", mounts: mountV2,
			files: map[string]string{"sys/fs/cgroup/a/cpu.max": "50000 100000\n"},
			want:  Quota{"sys/fs/cgroup/a/cpu.max", 0.5},
		},
		{
			name: "v2 tightest of the ancestors", cgroup: "0::/a/b/c\n", mounts: mountV2,
			files: map[string]string{"sys/fs/cgroup/a/b/cpu.max": "50000 100000\n", "sys/fs/cgroup/a/cpu.max": "300000 100000\n"},
			want:  Quota{"sys/fs/cgroup/a/b/cpu.max", 0.5},
		},
		{
			// The mount is the reader's own cgroup.
			name: "v2 outside the namespace", cgroup: "0::/../other\n", mounts: mountV2,
			files: map[string]string{"sys/fs/cgroup/cpu.max": "10000 100000\n", "sys/fs/cgroup/other/cpu.max": "10000 100000\n"},
		},
		{
			name: "v1 of another container", cgroup: "2:cpu:/docker/other\n", mounts: mountV1In,
			files: map[string]string{
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "200000\n",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
			},
		},
		{
			name: "v2 mounted before the namespace was made", cgroup: "0::/../other\n",
			mounts: strings.Replace(mountV2, " / ", " /.. ", 1),
			files:  map[string]string{"sys/fs/cgroup/other/cpu.max": "10000 100000\n"},
			want:   Quota{"sys/fs/cgroup/other/cpu.max", 0.1},
		},
		{
			name: "v1 none", cgroup: "2:cpu,cpuacct:/a\n0::/\n", mounts: mountV1 + mountV2,
			files: map[string]string{
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us":  "-1\n",
				"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
			},
		},
		{
			name: "v1 in a container", cgroup: "3:cpuset:/docker/abc\n2:cpu:/docker/abc\n", mounts: mountV1In,
			files: map[string]string{
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us":  "200000\n",
				"sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
			},
			want: Quota{"sys/fs/cgroup/cpu/cpu.cfs_quota_us", 2},
		},
		{
			name: "nonsense", cgroup: "0::/\n", mounts: mountV2, fails: true,
			files: map[string]string{"sys/fs/cgroup/cpu.max": "much\n"},
		},
		{
			name: "no period", cgroup: "0::/\n", mounts: mountV2, fails: true,
			files: map[string]string{"sys/fs/cgroup/cpu.max": "1 0\n"},
		},
		{
			name: "too long", cgroup: "0::/\n", mounts: mountV2, fails: true,
			files: map[string]string{"sys/fs/cgroup/cpu.max": strings.Repeat("9", proc.MaxFile+1)},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := tree(test.cgroup, test.mounts, test.files)
			groups, err := Of(root, "7")
			if err != nil {
				t.Fatal(err)
			}
			got, err := Tightest(root, groups)
			if (err != nil) != test.fails {
				t.Fatalf("got error %v, want one: %v", err, test.fails)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("quota (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWatchReadsOwnAndAncestors(t *testing.T) {
	root := tree("0::/a/b\n", mountV2, map[string]string{
		"sys/fs/cgroup/a/b/cpu.stat": "usage_usec 9\nnr_periods 5\nnr_throttled 3\nthrottled_usec 1500\n",
		"sys/fs/cgroup/a/cpu.stat":   "nr_throttled 1\nthrottled_time 77\n",
		"sys/fs/cgroup/cpu.stat":     "usage_usec 9\n",
	})
	groups, err := Of(root, "7")
	if err != nil {
		t.Fatal(err)
	}
	w := NewWatch(root, groups)
	want := []Throttle{{Count: 3, Time: 1500 * time.Microsecond}, {Count: 1, Time: 77}}
	if diff := cmp.Diff(want, w.Read(nil)); diff != "" {
		t.Errorf("throttling (-want +got):\n%s", diff)
	}
	const parent = "sys/fs/cgroup/a/cpu.stat"
	for _, text := range []string{"", "nr_throttled much\n", strings.Repeat("9", proc.MaxFile+1)} {
		root[parent] = &fstest.MapFile{Data: []byte(text)}
		if diff := cmp.Diff(want, w.Read(nil)); diff != "" {
			t.Errorf("throttling while one cannot be read (-want +got):\n%s", diff)
		}
	}
	delete(root, parent)
	if diff := cmp.Diff(want, w.Read(nil)); diff != "" {
		t.Errorf("throttling after one has gone (-want +got):\n%s", diff)
	}
	root[parent] = &fstest.MapFile{Data: []byte("nr_throttled 2\nthrottled_time 99\n")}
	want[1] = Throttle{Count: 2, Time: 99}
	if diff := cmp.Diff(want, w.Read(nil)); diff != "" {
		t.Errorf("throttling after it is back (-want +got):\n%s", diff)
	}
}

// TestSelf: what is mounted here gives the reader its CPU time, whatever it is
// called.
func TestSelf(t *testing.T) {
	for _, own := range []string{"2:cpu:/docker/abc\n", "2:cpu:/docker/abc/x\n", "2:cpu:/elsewhere\n"} {
		root := tree(own, mountV1In, nil)
		root["proc/self/cgroup"] = root["proc/7/cgroup"]
		groups, err := Of(root, "self")
		if err != nil || len(groups) == 0 || groups[len(groups)-1].Dir != "sys/fs/cgroup/cpu" {
			t.Errorf("%q: got %v, %v, want the mount at last", own, groups, err)
		}
	}
}

// TestSelfByNumber: the reader is the reader by its number, too, as one who counts
// what happens to his own process has it.
func TestSelfByNumber(t *testing.T) {
	root := tree("2:cpu:/elsewhere\n", mountV1In, map[string]string{"sys/fs/cgroup/cpu/cpu.stat": ""})
	root["proc/self"] = &fstest.MapFile{Mode: fs.ModeSymlink, Data: []byte("7")}
	root["proc/7/mountinfo"] = root["proc/self/mountinfo"]
	delete(root, "proc/self/mountinfo")
	want := Group{Dir: "sys/fs/cgroup/cpu"}
	for _, proc := range []string{"self", "7"} {
		if groups, err := Of(root, proc); err != nil || !cmp.Equal(groups, []Group{want}) {
			t.Errorf("%s: got %v, %v, want %v", proc, groups, err, want)
		}
		if own, err := Own(root, proc); err != nil || own != want {
			t.Errorf("%s: own is %v, %v, want %v", proc, own, err, want)
		}
	}
}

func TestProcessThatIsNotThere(t *testing.T) {
	if got, err := Of(tree("", "", nil), "9"); got != nil || err != nil {
		t.Errorf("cgroups of nobody: got %v, %v, want none", got, err)
	}
	if got, err := Of(tree("", "", nil), "../../etc"); err == nil {
		t.Errorf("cgroups of a path: got %v, want an error", got)
	}
}

func FuzzOf(f *testing.F) {
	f.Add("0::/a/b\n", mountV2)
	f.Add("3:cpuset:/docker/abc\n2:cpu:/docker/abc\n", mountV1In)
	f.Add("2:cpu,cpuacct:/a/../..\n", mountV1+mountV2)
	f.Fuzz(func(t *testing.T, cgroup, mounts string) {
		groups, err := Of(tree(cgroup, mounts, nil), "7")
		if err != nil && groups != nil {
			t.Errorf("error %v and groups %v", err, groups)
		}
		if len(groups) > maxDepth {
			t.Errorf("%d groups, want at most %d", len(groups), maxDepth)
		}
		for _, g := range groups {
			if _, err := g.Quota(tree("", "", nil)); err != nil && !strings.Contains(err.Error(), "invalid") {
				t.Errorf("quota of %q: %v", g.Dir, err)
			}
		}
	})
}
