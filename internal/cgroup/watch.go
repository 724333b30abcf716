package cgroup

import "io/fs"

// Watch reads the throttling of some cgroups again and again.
type Watch struct {
	root   fs.FS
	groups []Group
	inodes []uint64
}

// NewWatch returns a Watch of those of groups that count their throttling. Of
// none of them it reads nothing.
func NewWatch(root fs.FS, groups []Group) *Watch {
	w := &Watch{root: root}
	for _, g := range groups {
		if _, ok := g.Throttle(root); ok {
			w.groups = append(w.groups, g)
			w.inodes = append(w.inodes, g.Inode(root))
		}
	}
	return w
}

// Read appends the present state of each cgroup to dst, own first, always the
// same number of them. That of one that cannot be read is zero.
func (w *Watch) Read(dst []Throttle) []Throttle {
	for _, g := range w.groups {
		t, _ := g.Throttle(w.root)
		dst = append(dst, t)
	}
	return dst
}

// Inode returns the id of the i-th of the cgroups, see [Group.Inode].
func (w *Watch) Inode(i int) uint64 { return w.inodes[i] }
