// Package cgroup finds the cgroups that give any process of this host its CPU
// time, and reads their quota, their throttling and their CPUs, in v1 and v2
// alike: the process's own cgroup and every ancestor that can be seen from here.
//
// All files are read below an fs.FS that is the root of the file system, and
// no more than 1 MiB of each. Nothing is written. A cgroup outside of
// this process's cgroup namespace is not known: [ErrUnseen]. Files and fields are
// those of cgroups(7) and Documentation/admin-guide/cgroup-v2.rst.
package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/otelgc/otelgc/internal/proc"
)

const (
	// maxDepth bounds how many ancestors are looked at.
	maxDepth = 64
)

// Group is one directory of a hierarchy.
type Group struct {
	Dir string // without the leading slash, such as sys/fs/cgroup/cpu/x
	V2  bool
}

// Of returns the cgroup with the cpu controller of the process that proc names
// ("self", or a PID) and its ancestors, own first. It is empty where the
// controller is not mounted, and of another process that is in no cgroup below
// that mount: then nothing is known.
func Of(root fs.FS, proc string) ([]Group, error) { return withController(root, proc, "cpu") }

// Unified is Of for the v2 hierarchy, whatever controllers it holds: pressure is
// kept there, whoever limits the CPU.
func Unified(root fs.FS, proc string) ([]Group, error) { return withController(root, proc, "") }

// withController is Of for another controller, such as cpuset.
func withController(root fs.FS, proc, controller string) ([]Group, error) {
	own, v2, err := ownPath(root, path.Join("proc", proc, "cgroup"), controller)
	if own == "" || err != nil {
		return nil, err
	}
	// The mounts are those of the reader, not of the process: the reader opens
	// the files.
	mount, top, err := findMount(root, v2, controller)
	if mount == "" || err != nil {
		return nil, err
	}
	rel, seen := below(top, own)
	if !seen {
		if !isReader(root, proc) {
			return nil, nil // what is mounted is the reader's, and no ancestor of it
		}
		rel = readers
	}
	var groups []Group
	for range maxDepth {
		groups = append(groups, Group{strings.TrimPrefix(path.Join(mount, rel), "/"), v2})
		if rel == "/" {
			break
		}
		rel = path.Dir(rel)
	}
	return groups, nil
}

// readers is where the cgroup of the reader is taken to be that is not below its
// mount: a container may have its own mounted as if it were the top, while /proc
// names it from another one.
const readers = "/"

// isReader reports whether a process is the one that reads: by the name that it has
// for itself, or by the number that goes by that.
func isReader(root fs.FS, proc string) bool {
	if proc == "self" {
		return true
	}
	self, err := fs.ReadLink(root, "proc/self")
	return err == nil && self == proc
}

// below returns the path of a cgroup from the top of a mount. It reports false of
// one that is not there: in a container of its own, or outside of the reader's
// namespace, which says "/.." for what lies above (cgroup_namespaces(7)).
func below(top, own string) (rel string, seen bool) {
	in, ok := strings.CutPrefix(own, strings.TrimSuffix(top, "/"))
	if !ok || in != "" && in[0] != '/' || slices.Contains(strings.Split(in, "/"), "..") {
		return "", false
	}
	return path.Clean("/" + in), true
}

// ownPath returns the path in /proc/PID/cgroup of the hierarchy with the
// controller: a v1 one if there is one, else the v2 one (cgroups(7)).
func ownPath(root fs.FS, file, controller string) (own string, v2 bool, err error) {
	text, err := read(root, file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil // no cgroups in this kernel, or no such process
	}
	if err != nil {
		return "", false, fmt.Errorf("read cgroup of process: %w", err)
	}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		switch {
		case f[1] == "":
			if f[0] == "0" {
				own, v2 = f[2], true
			}
		case slices.Contains(strings.Split(f[1], ","), controller):
			return f[2], false, nil
		}
	}
	return own, v2, nil
}

// findMount returns where the hierarchy is mounted and which of its
// directories is the top of the mount (proc_pid_mountinfo(5)).
func findMount(root fs.FS, v2 bool, controller string) (mount, top string, err error) {
	text, err := read(root, "proc/self/mountinfo")
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read mounts: %w", err)
	}
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(line, " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		isV1 := r[0] == "cgroup" && slices.Contains(strings.Split(r[2], ","), controller)
		if (v2 && r[0] == "cgroup2") || (!v2 && isV1) {
			return unescape(l[4]), unescape(l[3]), nil
		}
	}
	return "", "", nil
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// read returns the text of a file.
func read(root fs.FS, name string) (string, error) {
	text, err := proc.Read(root, name)
	return string(text), err
}

// Why [Own] returns no cgroup.
var (
	// ErrNone: the process is in no cgroup with a cpu controller: nothing limits it.
	ErrNone = errors.New("no cgroup with the cpu controller")
	// ErrUnseen: its cgroup is not mounted here, or lies outside of what is.
	ErrUnseen = errors.New("its cgroup cannot be seen from here")
)

// Own returns the cgroup with the cpu controller that the process is in, which
// is the first of [Of] where all can be seen. Beside another container it cannot.
func Own(root fs.FS, proc string) (Group, error) {
	const controller = "cpu"
	own, v2, err := ownPath(root, path.Join("proc", proc, "cgroup"), controller)
	switch {
	case err != nil:
		return Group{}, err
	case own == "":
		return Group{}, ErrNone
	}
	mount, top, err := findMount(root, v2, controller)
	switch {
	case err != nil:
		return Group{}, err
	case mount == "":
		return Group{}, ErrUnseen
	}
	rel, seen := below(top, own)
	if !seen && isReader(root, proc) {
		rel, seen = readers, true
	}
	dir := strings.TrimPrefix(path.Join(mount, rel), "/")
	if _, err := fs.Stat(root, dir); !seen || err != nil {
		return Group{}, ErrUnseen
	}
	return Group{dir, v2}, nil
}

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
