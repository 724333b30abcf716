package cgroup

import (
	"io/fs"
	"path"
)

// Freezer is a file that says whether a cgroup is frozen, by itself or with an
// ancestor, and the line of it that says so.
type Freezer struct{ File, Line string }

// Freezers returns the freezers of a process's own cgroups: of v2
// (Documentation/admin-guide/cgroup-v2.rst, cgroup.events), and of v1
// (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst). The top of a
// hierarchy cannot be frozen.
func Freezers(root fs.FS, proc string) (list []Freezer, err error) {
	for _, controller := range []string{"", "freezer"} {
		groups, err := withController(root, proc, controller)
		if err != nil {
			return nil, err
		}
		if len(groups) == 0 || groups[0].V2 != (controller == "") {
			continue
		}
		f := Freezer{path.Join(groups[0].Dir, "freezer.state"), "FROZEN"}
		if groups[0].V2 {
			f = Freezer{path.Join(groups[0].Dir, "cgroup.events"), "frozen 1"}
		}
		if _, err := fs.Stat(root, f.File); err == nil {
			list = append(list, f)
		}
	}
	return list, nil
}
