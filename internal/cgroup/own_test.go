package cgroup

import (
	"errors"
	"testing"
)

// TestOwn: a process beside this one's container has a cgroup that cannot be
// seen, and must not be given this one's.
func TestOwn(t *testing.T) {
	const here, inner = "sys/fs/cgroup/cpu.max", "sys/fs/cgroup/a/cpu.max"
	for _, test := range []struct {
		name           string
		cgroup, mounts string
		file           string
		want           Group
		err            error
	}{
		{name: "a kernel without cgroups", err: ErrNone},
		{name: "another controller only", cgroup: "3:cpuset:/a\n", mounts: mountV1, err: ErrNone},
		{name: "not mounted", cgroup: "0::/a\n", mounts: "\n", file: inner, err: ErrUnseen},
		{name: "v2", cgroup: "0::/a\n", mounts: mountV2, file: inner, want: Group{"sys/fs/cgroup/a", true}},
		{name: "v2, the top", cgroup: "0::/\n", mounts: mountV2, file: here, want: Group{"sys/fs/cgroup", true}},
		{name: "v2, beside the namespace", cgroup: "0::/../a\n", mounts: mountV2, file: inner, err: ErrUnseen},
		{name: "v2, above the namespace", cgroup: "0::/..\n", mounts: mountV2, file: here, err: ErrUnseen},
		{name: "v2, a name that begins with dots", cgroup: "0::/..a\n", mounts: mountV2, file: "sys/fs/cgroup/..a/cpu.max", want: Group{"sys/fs/cgroup/..a", true}},
		{name: "v2, not below the mount", cgroup: "0::/b\n", mounts: mountV2, file: inner, err: ErrUnseen},
		{name: "v1 in a container", cgroup: "2:cpu:/docker/abc\n", mounts: mountV1In, file: "sys/fs/cgroup/cpu/cpu.cfs_quota_us", want: Group{"sys/fs/cgroup/cpu", false}},
		{name: "v1, another container", cgroup: "2:cpu:/docker/def\n", mounts: mountV1In, file: "sys/fs/cgroup/cpu/cpu.cfs_quota_us", err: ErrUnseen},
		{name: "v1, a container whose name begins alike", cgroup: "2:cpu:/docker/abcd\n", mounts: mountV1In, file: "sys/fs/cgroup/cpu/d/cpu.cfs_quota_us", err: ErrUnseen},
	} {
		t.Run(test.name, func(t *testing.T) {
			files := map[string]string{}
			if test.file != "" {
				files[test.file] = "max 100000\n"
			}
			got, err := Own(tree(test.cgroup, test.mounts, files), "7")
			if got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %+v, %v, want %+v, %v", got, err, test.want, test.err)
			}
		})
	}
}
