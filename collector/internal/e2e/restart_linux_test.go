package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestRestarts: under load, a gateway is told to end, a gateway is killed, and the
// agent is killed. Not one span is lost; those that come twice can be counted.
func TestRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := newTiers(t, briefly)
	sidecar := n.agent.watch(t, "grpc", "off", "--mode", "periodic")
	ids := filepath.Join(dir, "spans.jsonl")
	// A service that tries again until the agent is back.
	plain := start(t, n.agent.senderEnv("e2e-plain", "grpc", "off"), programs(t).plain,
		"-spans", ids, "-workers", "4", "-length", "5ms")
	owner := n.owner(t, "e2e-plain", append(n.running[:], sidecar, plain)...)
	out := n.backends[owner]
	senders := []*process{sidecar, plain}

	t.Log("the gateway is told to end")
	said := n.failures()
	n.running[owner].end(t)
	n.expectRetry(t, said, append(senders, n.running[2])...)
	n.gateway(t, owner)
	n.expectAll(t, out, madeSpans(t, ids), append(senders, n.running[:]...)...)
	t.Logf("%d spans came twice", out.again())

	t.Log("the gateway is killed")
	said = n.failures()
	n.running[owner].kill()
	n.expectRetry(t, said, append(senders, n.running[2])...)
	n.gateway(t, owner)
	n.expectAll(t, out, madeSpans(t, ids), append(senders, n.running[:]...)...)
	n.expectNothingDropped(t)
	t.Logf("%d spans came twice", out.again())

	t.Log("the agent is killed")
	n.running[2].kill()
	n.startAgent(t)
	before := len(madeSpans(t, ids))
	eventually(t, "load on the new agent", func() error {
		if got := len(madeSpans(t, ids)) - before; got < 200 {
			return fmt.Errorf("%d of %d spans", got, 200)
		}
		return nil
	}, append(senders, n.running[:]...)...)

	plain.end(t)
	all := madeSpans(t, ids)
	n.expectAll(t, out, all, append(n.running[:], sidecar)...)
	n.expectNothingDropped(t)
	sidecar.stop(t)
	n.stop(t)
	t.Logf("of %d spans %d came, %d of them more than once", len(all), out.has(all), out.again())
	if got := len(out.of("e2e-plain")); got != len(all) {
		t.Errorf("%d different spans came, want %d", got, len(all))
	}
}

// failures counts how often the agent said that it could not send. It says it some
// times in ten seconds at most.
func (n *tiers) failures() int { return strings.Count(n.running[2].output(), "Exporting failed") }

// expectRetry waits until the agent has said so once more, and will send again.
func (n *tiers) expectRetry(t *testing.T, before int, ps ...*process) {
	t.Helper()
	eventually(t, "exports that fail", func() error {
		if n.failures() == before {
			return fmt.Errorf("the agent has not said so")
		}
		return nil
	}, ps...)
}

// expectAll waits until every span has come.
func (n *tiers) expectAll(t *testing.T, out *backend, want map[string]made, ps ...*process) {
	t.Helper()
	eventually(t, "every span", func() error {
		if got := out.has(want); got != len(want) {
			return fmt.Errorf("%d of %d", got, len(want))
		}
		return nil
	}, ps...)
	t.Logf("none of %d spans is lost", len(want))
}

// expectNothingDropped: the agent gave up nothing, and refused nothing.
func (n *tiers) expectNothingDropped(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"otelcol_receiver_refused_spans", "otelcol_exporter_send_failed_spans", "otelcol_exporter_enqueue_failed_spans",
		"otelcol_receiver_refused_log_records", "otelcol_exporter_send_failed_log_records", "otelcol_exporter_enqueue_failed_log_records",
	} {
		var got float64
		eventually(t, name, func() (err error) { got, err = n.agent.ownMetric(name); return err }, n.running[2])
		if got != 0 {
			t.Errorf("%s of the agent is %v, want 0", name, got)
		}
	}
}

// again counts the spans that came more than once.
func (b *backend) again() (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.spans {
		if d.times > 1 {
			n++
		}
	}
	return n
}
