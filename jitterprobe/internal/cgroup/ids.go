package cgroup

import (
	"os"
	"path/filepath"
)

// IDs returns the inodes of this process's cgroups that count CPU time, own
// first: what stall.Owner.Cgroup names. Empty where nothing is known.
func IDs(root string) []uint64 {
	groups, err := hierarchy(root)
	if err != nil {
		return nil // then no record of a cgroup applies, which errs on the careful side
	}
	var ids []uint64
	for _, g := range groups {
		if info, err := os.Stat(filepath.Join(root, g.dir)); err == nil {
			ids = append(ids, inode(info))
		}
	}
	return ids
}
