//go:build !linux

package cgroup

import "io/fs"

// Inode returns 0: there are no cgroups here.
func (g Group) Inode(fs.FS) uint64 { return 0 }
