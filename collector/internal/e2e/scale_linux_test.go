package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestScaleDown: a gateway is taken out of DNS, as a StatefulSet with one replica
// less takes it out, and told to end. Its machines go to another gateway, and
// under load not one span is lost on the way, nor comes twice.
func TestScaleDown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := &tiers{agent: newSite(t, ""), wait: briefly}
	_, port, _ := strings.Cut(freeAddresses(t, 1)[0], ":")
	for i := range n.gateways {
		n.gateways[i], n.backends[i] = newSite(t, ""), newBackend(t)
		n.gateways[i].grpc = fmt.Sprintf("127.0.0.%d:%s", i+1, port)
		n.gateway(t, i)
	}
	names := &hosts{filepath.Join(dir, "hosts")}
	names.write(t, "127.0.0.1", "127.0.0.2")
	n.running[2] = n.agent.healthy(t, names.start(t,
		append(n.agent.environment(), n.patience(), "OTELGC_GATEWAYS_INSECURE=true", `OTELGC_GATEWAYS={dns: {hostname: gateways.test, port: "`+port+`", interval: 1s}}`),
		programs(t).collector, "--config", agentConfig))
	ids := filepath.Join(dir, "spans.jsonl")
	plain := start(t, n.agent.senderEnv("e2e-plain", "grpc", "off"), programs(t).plain,
		"-spans", ids, "-workers", "4", "-length", "5ms")
	before := n.owner(t, "e2e-plain", append(n.running[:], plain)...)
	after := 1 - before

	names.write(t, fmt.Sprintf("127.0.0.%d", after+1))
	eventually(t, "spans at the other gateway", func() error {
		if got := len(n.backends[after].of("e2e-plain")); got < 500 {
			return fmt.Errorf("%d of 500", got)
		}
		return nil
	}, append(n.running[:], plain)...)
	plain.end(t)
	all := madeSpans(t, ids)
	eventually(t, "every span", func() error {
		if got := n.backends[0].has(all) + n.backends[1].has(all); got < len(all) {
			return fmt.Errorf("%d of %d", got, len(all))
		}
		return nil
	}, n.running[:]...)
	n.stop(t) // what is on its way a second time comes now
	got := n.of("e2e-plain")
	t.Logf("of %d spans, %d came out of the gateway that went, %d out of the other", len(all),
		len(n.backends[before].of("e2e-plain")), len(n.backends[after].of("e2e-plain")))
	for id := range all {
		if times := n.backends[0].times(id) + n.backends[1].times(id); times != 1 {
			t.Errorf("span %s came %d times", id, times)
		}
	}
	if len(got) != len(all) {
		t.Errorf("%d spans came, want %d", len(got), len(all))
	}
}

// times returns how often a span came.
func (b *backend) times(id string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.spans[id].times
}

// hosts is a hosts(5) of a process's own: what gateways.test is.
type hosts struct{ path string }

func (h *hosts) write(t *testing.T, addresses ...string) {
	t.Helper()
	var text strings.Builder
	for _, a := range addresses {
		fmt.Fprintf(&text, "%s gateways.test\n", a)
	}
	if err := os.WriteFile(h.path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// start starts a program for which h is /etc/hosts.
func (h *hosts) start(t *testing.T, env []string, path string, args ...string) *process {
	t.Helper()
	unshare, err := exec.LookPath("unshare")
	if err != nil || os.Geteuid() != 0 {
		t.Skipf("skipped: an /etc/hosts of its own: want root and unshare (util-linux): uid %d, %v", os.Geteuid(), err)
	}
	return start(t, env, unshare, append([]string{"--mount", "sh", "-c", `mount --bind "$0" /etc/hosts && exec "$@"`, h.path, path}, args...)...)
}
