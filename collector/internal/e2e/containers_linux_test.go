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
	n := newTiers(t, briefly)
	services := []string{"e2e-orders", "e2e-stock", "e2e-mail"}
	file := func(service string) string { return filepath.Join(dir, service) }
	for _, service := range services {
		env := append(n.agent.senderEnv(service, "grpc", "off"), "GOGC=100",
			"OTEL_RESOURCE_ATTRIBUTES=k8s.pod.uid=pod-of-"+service+",k8s.container.name=main")
		startAs(t, inContainer, env, programs(t).shop, "-answers", file(service), "-requests", fmt.Sprint(spans))
	}
	owner := n.owner(t, services[0], n.running[:]...)
	for _, service := range services {
		got := map[string]map[string]float64{}
		eventually(t, "all spans of "+service, func() error {
			for id, d := range n.backends[owner].of(service) {
				got[id] = d.shares
			}
			if len(got) < spans {
				return fmt.Errorf("%d of %d", len(got), spans)
			}
			return nil
		}, n.running[:]...)
		compare(t, got, answers(t, file(service)))
	}
	n.stop(t)
}
