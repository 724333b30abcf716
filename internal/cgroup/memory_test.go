package cgroup

import "testing"

// TestMemoryLimit finds the tightest limit of a process and of what is above it. The
// top of v1 says a number that is no limit of any machine.
func TestMemoryLimit(t *testing.T) {
	for name, test := range map[string]struct {
		own, mount string
		files      map[string]string
		want       int64
	}{
		"v2": {"0::/a/b\n", mountV2, map[string]string{
			"sys/fs/cgroup/a/memory.max": "134217728\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
		}, 128 << 20},
		"v2, none": {"0::/a/b\n", mountV2, map[string]string{"sys/fs/cgroup/a/memory.max": "max\n"}, 0},
		"no files": {"0::/a/b\n", mountV2, nil, 0},
	} {
		got, err := MemoryLimit(tree(test.own, test.mount, test.files), "7")
		if got != test.want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", name, got, err, test.want)
		}
	}
	broken := tree("0::/a\n", mountV2, map[string]string{"sys/fs/cgroup/a/memory.max": "much\n"})
	if _, err := MemoryLimit(broken, "7"); err == nil {
		t.Error("a limit that is no number: want an error")
	}
}
