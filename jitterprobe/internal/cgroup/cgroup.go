// Package cgroup finds the CPU quota that this process runs under, and how
// often it was throttled by it, in cgroup v1 and v2 alike: in its own cgroup
// and in every ancestor that it can see.
//
// All paths are read below a root directory, which is "/" but in tests.
package cgroup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

const (
	selfCgroup    = "proc/self/cgroup"
	selfMountinfo = "proc/self/mountinfo"
)

// maxDepth bounds how many ancestors are looked at.
const maxDepth = 64

// group is one directory of the hierarchy that holds the cpu controller.
type group struct {
	dir string // as this process sees it, such as /sys/fs/cgroup/cpu/x
	v2  bool
}

// hierarchy returns this process's cgroup and its ancestors, own first. It is
// empty where the controller is not mounted: then nothing is known.
func hierarchy(root string) ([]group, error) {
	own, v2, err := ownPath(filepath.Join(root, selfCgroup))
	if own == "" || err != nil {
		return nil, err
	}
	mount, top, err := findMount(filepath.Join(root, selfMountinfo), v2)
	if mount == "" || err != nil {
		return nil, err
	}
	// A container may have its own cgroup mounted as if it were the top, while
	// /proc names it from the host's top; and a namespace says "/.." for what
	// lies above. What cannot be seen is left out.
	rel := "/"
	if in, ok := strings.CutPrefix(own, strings.TrimSuffix(top, "/")); ok && (in == "" || in[0] == '/') {
		rel = path.Clean("/" + in)
	}
	var groups []group
	for range maxDepth {
		groups = append(groups, group{path.Join(mount, rel), v2})
		if rel == "/" {
			break
		}
		rel = path.Dir(rel)
	}
	return groups, nil
}

// ownPath returns the path in /proc/self/cgroup of the hierarchy with the cpu
// controller: a v1 one if there is one, else the v2 one (cgroups(7)).
func ownPath(file string) (own string, v2 bool, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil // no cgroups in this kernel
	}
	if err != nil {
		return "", false, fmt.Errorf("read own cgroup: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 {
			continue
		}
		if slices.Contains(strings.Split(f[1], ","), "cpu") {
			return f[2], false, nil
		}
		if f[0] == "0" && f[1] == "" {
			own, v2 = f[2], true
		}
	}
	return own, v2, nil
}

// findMount returns where the hierarchy is mounted and which of its
// directories is the top of the mount (proc_pid_mountinfo(5)).
func findMount(file string, v2 bool) (mount, top string, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read mounts: %w", err)
	}
	for line := range bytes.Lines(text) {
		left, right, ok := strings.Cut(string(line), " - ")
		l, r := strings.Fields(left), strings.Fields(right)
		if !ok || len(l) < 5 || len(r) < 3 {
			continue
		}
		isV1 := r[0] == "cgroup" && slices.Contains(strings.Split(r[2], ","), "cpu")
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
