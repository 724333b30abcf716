package cgroup

import (
	"strings"
)

// Container is what the cgroup of a process says of the container that it runs
// in. What it does not say is empty: in a cgroup namespace of its own a process
// names nothing that is above it.
type Container struct {
	// ID is what the container runtime calls it (container.id of the semantic
	// conventions): 64 hex digits, but on Fargate 32 and a number.
	ID string
	// Pod is the UID that the Kubernetes API has for the pod (k8s.pod.uid). That
	// of a static pod is not in the path, but a hash of its manifest.
	Pod string
}

// maxPath bounds the path of one cgroup that is looked at: PATH_MAX of the
// kernel.
const maxPath = 4096

// ContainerOf reads the text of a /proc/PID/cgroup, cgroups(7): in v2 one line,
// in v1 one for each hierarchy. The first that names a container counts.
func ContainerOf(text string) Container {
	var found Container
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 || len(f[2]) > maxPath {
			continue
		}
		c := containerIn(f[2])
		if c.ID != "" {
			return c
		}
		if found.Pod == "" {
			found = c
		}
	}
	return found
}

// containerIn reads the path of a cgroup from its end: the innermost container
// is the process's, and its pod is above it. What is above the pod is the node.
//
// The formats are those of the kubelet (kubernetes, pkg/kubelet/cm/
// cgroup_manager_linux.go: cgroupfs and systemd drivers), of runc's, containerd's
// and CRI-O's systemd units (name-ID.scope), of containerd without systemd
// (slice:name:ID), and of Docker, Podman and ECS (plain directories).
func containerIn(path string) (c Container) {
	for path != "" && c.Pod == "" {
		at := strings.LastIndexByte(path, '/')
		part := path[at+1:]
		if path = path[:max(at, 0)]; part == "" {
			continue
		}
		if c.ID == "" {
			c.ID = containerID(part)
		}
		c.Pod = podUID(part)
	}
	return c
}

// containerID returns the id in one part of a path, empty for none. A monitor
// (conmon) runs beside a container, not in it.
func containerID(part string) string {
	part = strings.TrimSuffix(part, ".scope")
	if id, number, ok := strings.Cut(part, "-"); ok && isHex(id, 32) && isNumber(number) {
		return part // Fargate
	}
	at := strings.LastIndexAny(part, "-:")
	if id := part[at+1:]; isHex(id, 64) && !strings.HasSuffix(part[:at+1], "conmon-") {
		return id
	}
	return ""
}

// podUID returns the UID in one part of a path, empty for none: podUID, or
// kubepods[-burstable|-besteffort]-podUID.slice, where each dash of the UID is
// an underscore.
func podUID(part string) string {
	const length = 36
	part, _, _ = strings.Cut(part, ":") // containerd without systemd
	part = strings.TrimSuffix(part, ".slice")
	at := len(part) - length - len("pod")
	if at < 0 || part[at:at+len("pod")] != "pod" || at > 0 && part[at-1] != '-' {
		return ""
	}
	uid := strings.ReplaceAll(part[at+len("pod"):], "_", "-")
	for i, group := range strings.Split(uid, "-") {
		if i >= len(uidGroups) || !isHex(group, uidGroups[i]) {
			return ""
		}
	}
	return uid
}

// uidGroups are the hex digits between the dashes of a UID.
var uidGroups = [...]int{8, 4, 4, 4, 12}

func isHex(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}

func isNumber(s string) bool {
	const longest = 20 // digits of a uint64
	return s != "" && len(s) <= longest && strings.Trim(s, "0123456789") == ""
}

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
