package e2e

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestGatewayRestart: under load, a gateway that is told to end loses nothing,
// and one that is killed loses what it held, which can be counted. Nothing that
// was made before or after is lost, and nobody hangs.
func TestGatewayRestart(t *testing.T) {
	dir := t.TempDir()
	n := newTiers(t, briefly)
	sidecar := n.agent.watch(t, "grpc", "off", "--mode", "periodic")
	ids := filepath.Join(dir, "spans.jsonl")
	plain := start(t, n.agent.senderEnv("e2e-plain", "grpc", "off"), programs(t).plain,
		"-spans", ids, "-workers", "4", "-length", "5ms")
	owner := n.owner(t, "e2e-plain", append(n.running[:], sidecar, plain)...)
	out, agent := n.backends[owner], n.running[2]
	alive := []*process{agent, n.running[1-owner], sidecar, plain}

	t.Log("the gateway is told to end")
	n.running[owner].stop(t)
	if !n.running[owner].cmd.ProcessState.Success() {
		t.Errorf("the gateway ended with %v", n.running[owner].cmd.ProcessState)
	}
	n.expectQueue(t, alive...)
	n.gateway(t, owner)
	first := madeSpans(t, ids)
	eventually(t, "every span from before", func() error {
		if got := out.has(first); got != len(first) {
			return fmt.Errorf("%d of %d", got, len(first))
		}
		return nil
	}, append(alive, n.running[owner])...)
	t.Logf("none of %d spans is lost", len(first))

	t.Log("the gateway is killed")
	before := strings.Count(agent.output(), "Exporting failed")
	n.running[owner].kill()
	eventually(t, "exports that fail", func() error {
		if strings.Count(agent.output(), "Exporting failed") == before {
			return fmt.Errorf("the agent has not said so")
		}
		return nil
	}, alive...)
	n.expectQueue(t, alive...)
	// The ledger: what the agent handed over and did not come out was held.
	held := n.ownMetric(t, "otelcol_exporter_sent_spans") - len(out.of("e2e-plain"))
	n.gateway(t, owner)
	second := len(madeSpans(t, ids))
	eventually(t, "load on the new gateway", func() error {
		if got := len(madeSpans(t, ids)); got < second+500 {
			return fmt.Errorf("%d of %d spans", got-second, 500)
		}
		return nil
	}, append(alive, n.running[owner])...)

	plain.stop(t)
	if !plain.cmd.ProcessState.Success() {
		t.Errorf("plain ended with %v", plain.cmd.ProcessState)
	}
	all := madeSpans(t, ids)
	eventually(t, "every span but those that were held", func() error {
		if got := out.has(all); got < len(all)-held {
			return fmt.Errorf("%d of %d, %d were held", got, len(all), held)
		}
		return nil
	}, append(alive[:3], n.running[owner])...)
	n.expectNothingElseLost(t, len(all))
	sidecar.stop(t)
	n.stop(t)
	lost := len(all) - out.has(all)
	t.Logf("of %d spans %d are lost, of %d that the gateway held", len(all), lost, held)
	if lost > held || held < 0 {
		t.Errorf("%d spans are lost, want at most the %d that the gateway held", lost, held)
	}
}

// expectQueue waits until data waits in the agent.
func (n *tiers) expectQueue(t *testing.T, ps ...*process) {
	t.Helper()
	eventually(t, "data in the agent's queue", func() error {
		if n.ownMetric(t, "otelcol_exporter_queue_size") == 0 {
			return fmt.Errorf("it is empty")
		}
		return nil
	}, ps...)
}

// ownMetric reads a metric that the agent has on itself.
func (n *tiers) ownMetric(t *testing.T, name string) int {
	t.Helper()
	v, err := n.agent.ownMetric(name)
	if err != nil {
		t.Fatal(err)
	}
	return int(v)
}

// expectNothingElseLost: the agent took every span, gave up none, and refused
// none.
func (n *tiers) expectNothingElseLost(t *testing.T, spans int) {
	t.Helper()
	for name, want := range map[string]int{
		"otelcol_receiver_accepted_spans":          spans,
		"otelcol_exporter_sent_spans":              spans,
		"otelcol_receiver_refused_spans":           0,
		"otelcol_exporter_send_failed_spans":       0,
		"otelcol_exporter_enqueue_failed_spans":    0,
		"otelcol_exporter_send_failed_log_records": 0,
	} {
		if got := n.ownMetric(t, name); got != want {
			t.Errorf("%s of the agent is %d, want %d", name, got, want)
		}
	}
}
