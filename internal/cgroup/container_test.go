package cgroup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	id    = "7be92808767a667f35c8505cbf40d14e931ef6db5b0210329cf193b15ba9d605"
	outer = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	uid   = "2c48913c-b29f-11e7-9350-020968147796"
	slice = "kubepods-burstable-pod2c48913c_b29f_11e7_9350_020968147796.slice"
)

// TestContainerOf has what the drivers of the runtimes write.
func TestContainerOf(t *testing.T) {
	both := Container{id, uid}
	alone := Container{ID: id}
	for name, test := range map[string]struct {
		text string
		want Container
	}{
		"v2, no container":                     {"0::/user.slice/user-1000.slice/session-3.scope\n", Container{}},
		"v2, a service":                        {"0::/system.slice/shop.service\n", Container{}},
		"v2, a namespace of its own":           {"0::/\n", Container{}},
		"v1, no container":                     {"12:cpu,cpuacct:/user.slice\n1:name=systemd:/user.slice/user-0.slice/session-1.scope\n0::/\n", Container{}},
		"v2, kubelet systemd, containerd":      {"0::/kubepods.slice/kubepods-burstable.slice/" + slice + "/cri-containerd-" + id + ".scope\n", both},
		"v2, kubelet systemd, cri-o":           {"0::/kubepods.slice/kubepods-burstable.slice/" + slice + "/crio-" + id + ".scope\n", both},
		"v2, cri-o with crun":                  {"0::/kubepods.slice/kubepods-burstable.slice/" + slice + "/crio-" + id + ".scope/container\n", both},
		"v2, kubelet systemd, docker":          {"0::/kubepods.slice/kubepods-burstable.slice/" + slice + "/docker-" + id + ".scope\n", both},
		"v2, guaranteed":                       {"0::/kubepods.slice/kubepods-pod2c48913c_b29f_11e7_9350_020968147796.slice/cri-containerd-" + id + ".scope\n", both},
		"v2, best effort":                      {"0::/kubepods.slice/kubepods-besteffort.slice/" + strings.Replace(slice, "burstable", "besteffort", 1) + "/cri-containerd-" + id + ".scope\n", both},
		"v2, kubelet cgroupfs":                 {"0::/kubepods/burstable/pod" + uid + "/" + id + "\n", both},
		"v2, kubelet cgroupfs, guaranteed":     {"0::/kubepods/pod" + uid + "/" + id, both},
		"v2, containerd without systemd":       {"0::/system.slice/containerd.service/" + slice + ":cri-containerd:" + id + "\n", both},
		"v1, containerd without systemd":       {"5:cpuset:/system.slice/containerd.service/" + slice + ":cri-containerd:" + id + "\n", both},
		"v2, kind":                             {"0::/docker/" + outer + "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-" + slice + "/cri-containerd-" + id + ".scope\n", both},
		"v1, kind":                             {"11:devices:/docker/" + outer + "/kubelet/kubepods/besteffort/pod" + uid + "/" + id + "\n", both},
		"v2, from another container's root":    {"0::/../../kubepods-besteffort.slice/" + slice + "/cri-containerd-" + id + ".scope\n", both},
		"v2, beside in the pod":                {"0::/../cri-containerd-" + id + ".scope\n", alone},
		"a pod's process in no container":      {"0::/docker/" + outer + "/kubepods/burstable/pod" + uid + "\n", Container{Pod: uid}},
		"a static pod has a hash for a UID":    {"0::/kubepods/burstable/podd8dbe16a1f2f9a8f9f4cad10e53ad2e3/" + id + "\n", alone},
		"a pod's init in systemd":              {"0::/kubepods.slice/kubepods-burstable.slice/" + slice + "/cri-containerd-" + id + ".scope/init.scope\n", both},
		"v2, docker, systemd":                  {"0::/system.slice/docker-" + id + ".scope\n", alone},
		"v2, docker, cgroupfs":                 {"0::/docker/" + id + "\n", alone},
		"v1, docker":                           {"12:pids:/docker/" + id + "\n11:memory:/docker/" + id + "\n0::/system.slice/containerd.service\n", alone},
		"v1, docker, some hierarchies only":    {"12:rdma:/\n11:memory:/docker/" + id + "\n", alone},
		"docker in docker":                     {"4:cpu:/docker/" + outer + "/docker/" + id + "\n", alone},
		"nerdctl":                              {"0::/system.slice/nerdctl-" + id + ".scope\n", alone},
		"podman":                               {"0::/machine.slice/libpod-" + id + ".scope/container\n", alone},
		"podman, rootless":                     {"0::/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-" + id + ".scope\n", alone},
		"podman, cgroupfs":                     {"9:cpu:/libpod_parent/libpod-" + id + "\n", alone},
		"podman's monitor":                     {"0::/machine.slice/libpod-conmon-" + id + ".scope\n", Container{}},
		"cri-o's monitor":                      {"0::/kubepods.slice/" + slice + "/crio-conmon-" + id + ".scope\n", Container{Pod: uid}},
		"ecs on ec2":                           {"9:perf_event:/ecs/haythem-ecs/5a081c13-b8cf-4801-b427-9f4601742204/" + id + "\n", alone},
		"fargate":                              {"1:name=systemd:/ecs/34dc0b5e626f2c5c4c5170e34b10e765-1234567890\n", Container{ID: "34dc0b5e626f2c5c4c5170e34b10e765-1234567890"}},
		"aws batch, a plain directory":         {"4:blkio:/docker/" + id + "/\n", alone},
		"not the kernel's":                     {id + "\n::\n:::\n", Container{}},
		"too short":                            {"0::/docker/" + id[1:] + "\n", Container{}},
		"too long":                             {"0::/docker/0" + id + "\n", Container{}},
		"upper case":                           {"0::/docker/" + strings.ToUpper(id) + "\n", Container{}},
		"a UID with its dashes elsewhere":      {"0::/kubepods/pod2c48913cb-29f-11e7-9350-020968147796/x\n", Container{}},
		"a UID with six groups":                {"0::/kubepods/pod2c48913c-b29f-11e7-9350-020968147-96/x\n", Container{}},
		"a directory that ends like a pod":     {"0::/tripod" + uid + "\n", Container{}},
		"an absurd path":                       {"0::/" + strings.Repeat("x/", 1<<15) + "docker/" + id + "\n", Container{}},
		"an absurd path, and a plain one":      {"2:cpu:/" + strings.Repeat("x", 1<<15) + "\n0::/docker/" + id + "\n", alone},
		"the pod in one line, all in the next": {"3:cpu:/kubepods/pod" + uid + "\n2:memory:/kubepods/pod" + uid + "/" + id + "\n", both},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ContainerOf(test.text)); diff != "" {
				t.Errorf("container of %.200q (-want +got):\n%s", test.text, diff)
			}
		})
	}
}

// FuzzContainerOf: what is found is part of the text, or nothing, and of the
// length that it has to be.
func FuzzContainerOf(f *testing.F) {
	f.Add("0::/kubepods.slice/" + slice + "/cri-containerd-" + id + ".scope\n")
	f.Add("11:devices:/docker/" + outer + "/kubelet/kubepods/besteffort/pod" + uid + "/" + id + "\n")
	f.Add("5:cpuset:/system.slice/containerd.service/" + slice + ":cri-containerd:" + id + "\n0::/\n")
	f.Add("1:name=systemd:/ecs/34dc0b5e626f2c5c4c5170e34b10e765-1234567890\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := ContainerOf(text)
		if n := len(got.ID); n != 0 && n != 64 && (n < 34 || n > 53) || !strings.Contains(text, got.ID) {
			t.Errorf("container %q of %q", got.ID, text)
		}
		dashed := strings.ReplaceAll(text, "_", "-")
		if n := len(got.Pod); n != 0 && n != 36 || !strings.Contains(dashed, got.Pod) {
			t.Errorf("pod %q of %q", got.Pod, text)
		}
	})
}
