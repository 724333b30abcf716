package cgroup

import (
	"errors"
	"io/fs"
	"path"
	"strings"
)

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
