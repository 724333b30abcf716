package cgroup

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func tree(t *testing.T, files map[string]string) string {
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

const (
	mountV2   = "30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"
	mountV1   = "31 20 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n32 20 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
	mountV1In = "32 20 0:28 /docker/abc /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
)

func TestFindQuota(t *testing.T) {
	for _, test := range []struct {
		name  string
		files map[string]string
		want  Quota
		fails bool
	}{
		{name: "no cgroups", files: map[string]string{"x": ""}},
		{name: "not mounted", files: map[string]string{selfCgroup: "0::/a\n", selfMountinfo: "\n"}},
		{name: "v2 without", files: map[string]string{
			selfCgroup: "0::/a\n", selfMountinfo: mountV2, "sys/fs/cgroup/a/cpu.max": "max 100000\n",
		}},
		{name: "v2 own", files: map[string]string{
			selfCgroup: "0::/a\n", selfMountinfo: mountV2, "sys/fs/cgroup/a/cpu.max": "50000 100000\n",
		}, want: Quota{"/sys/fs/cgroup/a", 0.5}},
		{name: "v2 tightest of the ancestors", files: map[string]string{
			selfCgroup: "0::/a/b/c\n", selfMountinfo: mountV2,
			"sys/fs/cgroup/a/b/cpu.max": "50000 100000\n", "sys/fs/cgroup/a/cpu.max": "300000 100000\n",
		}, want: Quota{"/sys/fs/cgroup/a/b", 0.5}},
		{name: "v2 outside the namespace", files: map[string]string{
			selfCgroup: "0::/../other\n", selfMountinfo: mountV2, "sys/fs/cgroup/cpu.max": "10000 100000\n",
		}, want: Quota{"/sys/fs/cgroup", 0.1}},
		{name: "v1 none", files: map[string]string{
			selfCgroup: "2:cpu,cpuacct:/a\n0::/\n", selfMountinfo: mountV1 + mountV2,
			"sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "-1\n", "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
		}},
		{name: "v1 in a container", files: map[string]string{
			selfCgroup: "3:cpuset:/docker/abc\n2:cpu:/docker/abc\n", selfMountinfo: mountV1In,
			"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
		}, want: Quota{"/sys/fs/cgroup/cpu", 2}},
		{name: "nonsense", files: map[string]string{
			selfCgroup: "0::/\n", selfMountinfo: mountV2, "sys/fs/cgroup/cpu.max": "much\n",
		}, fails: true},
		{name: "no period", files: map[string]string{
			selfCgroup: "0::/\n", selfMountinfo: mountV2, "sys/fs/cgroup/cpu.max": "1 0\n",
		}, fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := FindQuota(tree(t, test.files))
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
	root := tree(t, map[string]string{
		selfCgroup: "0::/a/b\n", selfMountinfo: mountV2,
		"sys/fs/cgroup/a/b/cpu.stat": "usage_usec 9\nnr_periods 5\nnr_throttled 3\nthrottled_usec 1500\n",
		"sys/fs/cgroup/a/cpu.stat":   "nr_throttled 1\nthrottled_time 77\n",
		"sys/fs/cgroup/cpu.stat":     "usage_usec 9\n",
	})
	w, err := NewWatch(root)
	if err != nil {
		t.Fatal(err)
	}
	got := w.Read(nil)
	want := []Throttle{{Count: 3, Time: 1500 * time.Microsecond}, {Count: 1, Time: 77}}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Throttle{}, "Inode")); diff != "" {
		t.Errorf("throttling (-want +got):\n%s", diff)
	}
	if err := os.Remove(filepath.Join(root, "sys/fs/cgroup/a/cpu.stat")); err != nil {
		t.Fatal(err)
	}
	if again := w.Read(nil); len(again) != 2 || again[1].Count != 0 {
		t.Errorf("after one has gone: got %+v, want two, the second empty", again)
	}
}
