package cgroup

import "strings"

// OwnerOf names, by the text of a /proc/PID/cgroup, what the kernel says a process
// belongs to: the user whose slice it is in, or its pod, or its container; empty for
// none of these. Where one is in another the outermost counts: a user, or a container
// that may make cgroups, names what is below its own as it likes.
func OwnerOf(text string) string {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 || len(f[2]) > maxPath {
			continue
		}
		for part := range strings.SplitSeq(f[2], "/") {
			if owner := ownerIn(part); owner != "" {
				return owner
			}
		}
	}
	return ""
}

// ownerIn returns the owner that one part of a path names. The slice of a user is systemd's
// (systemd.special(7)).
func ownerIn(part string) string {
	if user, ok := strings.CutSuffix(part, ".slice"); ok {
		if number, ok := strings.CutPrefix(user, "user-"); ok && isNumber(number) {
			return "user " + number
		}
	}
	if uid := podUID(part); uid != "" {
		return "pod " + uid
	}
	if id := containerID(part); id != "" {
		return "container " + id
	}
	return ""
}
