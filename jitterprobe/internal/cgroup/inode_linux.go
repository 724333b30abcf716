package cgroup

import (
	"io/fs"
	"syscall"
)

// inode returns the number of a file's inode: the id of a cgroup.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
