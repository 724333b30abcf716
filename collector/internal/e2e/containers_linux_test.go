package e2e

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// inContainer gives a program pids of its own: it is process 1.
func inContainer(c *exec.Cmd) { c.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID }

// TestContainers: on a node where every service is process 1 of its container,
// the spans of each are charged with its own collections.
func TestContainers(t *testing.T) {
	const spans = 300
	dir := t.TempDir()
	n := newTiers(t, long)
	services := []string{"e2e-orders", "e2e-stock", "e2e-mail"}
	file := func(service string) string { return filepath.Join(dir, service) }
	out := n.place()
	var shops []*shop
	for _, service := range services {
		env := append(n.agent.senderEnv(service, "grpc", "off"), "GOGC=100",
			"OTEL_RESOURCE_ATTRIBUTES=k8s.pod.uid=pod-of-"+service+",k8s.container.name=main")
		shops = append(shops, out.startShop(t, inContainer, nil, service, env,
			"-answers", file(service), "-requests", fmt.Sprint(spans), "-last"))
	}
	for i, service := range services {
		shops[i].work(t)
		shops[i].finish(t)
		compare(t, out.come(t, service, spans), answers(t, file(service)), sameJoin(gaps{}), "gc.pause", "unseen")
	}
	n.stop(t)
}
