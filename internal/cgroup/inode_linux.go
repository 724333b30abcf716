package cgroup

import (
	"io/fs"
	"syscall"
)

// Inode returns the number of the inode of g's directory, the id of a cgroup
// by which stall.Owner names it; 0 if it is not known.
func (g Group) Inode(root fs.FS) uint64 {
	info, err := fs.Stat(root, g.Dir)
	if err != nil {
		return 0
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
