package cgroup

import "testing"

// TestOwnerOf: what a user or a container makes below its own cgroup does not make
// it another.
func TestOwnerOf(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"none":                   {"0::/\n", ""},
		"a service":              {"0::/system.slice/shop.service\n", ""},
		"a user":                 {"0::/user.slice/user-1000.slice/session-3.scope\n", "user 1000"},
		"a user's container":     {"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope\n", "user 1000"},
		"a pod":                  {"0::/kubepods.slice/kubepods-burstable.slice/" + slice + "/cri-containerd-" + id + ".scope\n", "pod " + uid},
		"a container in a pod's": {"0::/kubepods.slice/" + slice + "/cri-containerd-" + id + ".scope/docker/" + outer + "\n", "pod " + uid},
		"a container":            {"0::/system.slice/docker-" + id + ".scope/user-7.slice/libpod-" + outer + ".scope\n", "container " + id},
		"beside us":              {"0::/../cri-containerd-" + id + ".scope\n", "container " + id},
		"v1":                     {"12:cpu,cpuacct:/\n5:cpuset:/docker/" + id + "\n", "container " + id},
		"too long":               {"0::/" + string(make([]byte, maxPath)) + "/docker-" + id + ".scope\n", ""},
	} {
		if got := OwnerOf(test.text); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
