package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// CPUs returns the list of the CPUs that the process may use at all, as the
// kernel writes it, such as "0-3,8", and the file that says so: that of its own
// cgroup, or of the nearest ancestor that has the controller
// (Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.effective; in v1
// cpuset.effective_cpus). Both are empty where no cgroup says.
func CPUs(root fs.FS, proc string) (list, file string, err error) {
	groups, err := withController(root, proc, "cpuset")
	if err != nil {
		return "", "", err
	}
	for _, g := range groups {
		name := "cpuset.effective_cpus"
		if g.V2 {
			name = "cpuset.cpus.effective"
		}
		file := path.Join(g.Dir, name)
		text, err := read(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", fmt.Errorf("read CPUs of cgroup: %w", err)
		}
		return strings.TrimSpace(text), file, nil
	}
	return "", "", nil
}
