package cgroup

import "io/fs"

// Watch reads the throttling of some cgroups again and again. It is for one
// goroutine.
type Watch struct {
	root   fs.FS
	groups []Group
	inodes []uint64
	last   []Throttle // that was read of each
}

// NewWatch returns a Watch of those of groups that count their throttling. Of
// none of them it reads nothing.
func NewWatch(root fs.FS, groups []Group) *Watch {
	w := &Watch{root: root}
	for _, g := range groups {
		if t, ok := g.Throttle(root); ok {
			w.groups = append(w.groups, g)
			w.inodes = append(w.inodes, g.Inode(root))
			w.last = append(w.last, t)
		}
	}
	return w
}

// Read appends the present state of each cgroup to dst, own first, always the
// same number of them. Of one that cannot be read it repeats the last: were it
// zero, all that was ever counted would be new in the next.
func (w *Watch) Read(dst []Throttle) []Throttle {
	for i, g := range w.groups {
		if t, ok := g.Throttle(w.root); ok {
			w.last[i] = t
		}
	}
	return append(dst, w.last...)
}

// Inode returns the id of the i-th of the cgroups, see [Group.Inode].
func (w *Watch) Inode(i int) uint64 { return w.inodes[i] }
