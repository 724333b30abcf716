package e2e

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestTwoTiers: all that a machine sends comes to one gateway, what the gateway
// says of a service with otelgc is what the service itself knows, and a service
// without otelgc is charged with what the machine did, and with nothing else.
func TestTwoTiers(t *testing.T) {
	t.Parallel()
	const spans, boots = 500, 16
	dir := t.TempDir()
	n := newTiers(t, long)
	board := filepath.Join(dir, "board")
	sidecar := n.agent.watch(t, "grpc", board, "--mode", "periodic")
	file, ids := filepath.Join(dir, "answers.jsonl"), filepath.Join(dir, "spans.jsonl")
	shop := n.place().startShop(t, asItIs, nil, "e2e-shop", append(n.agent.senderEnv("e2e-shop", "grpc", board), "GOGC=100"),
		"-answers", file, "-requests", fmt.Sprint(spans), "-last")
	shop.work(t)
	shop.finish(t) // what is told below is not on the board
	plain := start(t, n.agent.senderEnv("e2e-plain", "grpc", "off"), programs(t).plain, "-spans", ids)
	all := append(n.running[:], sidecar)

	others := make(map[string]bool, boots)
	for i := range boots {
		others[fmt.Sprintf("00000000-0000-4000-8000-%012d", i)] = true
	}
	n.sendOthers(t, others)
	stolen := n.steal(t, ids, append(all, plain)...)
	plain.end(t)
	want := madeSpans(t, ids)
	owner := n.owner(t, "e2e-plain", all...)
	eventually(t, "all spans, attributed", func() error {
		shop, plain, others := len(n.backends[owner].of("e2e-shop")), n.backends[owner].has(want), len(n.of("e2e-other"))
		if shop < spans || plain < len(want) || others < boots*spansOfOther {
			return fmt.Errorf("%d of %d, %d of %d, %d of %d", shop, spans, plain, len(want), others, boots*spansOfOther)
		}
		return nil
	}, all...)

	n.expectOneGateway(t, owner, len(want)+spans, others)
	compare(t, n.place().spans("e2e-shop"), answers(t, file), sameJoin(gaps{}), "gc.pause", "unseen")
	expectPlain(t, n.backends[owner].of("e2e-plain"), want, stolen)
	if watched, _ := sums(n.of("e2e-other")); watched != 0 {
		t.Errorf("spans of machines without a sidecar: watched %v, want 0", watched)
	}
	sidecar.stop(t)
	n.stop(t)
}

// of returns the spans of a service, of both gateways.
func (n *tiers) of(service string) map[string]delivered {
	all := n.backends[0].of(service)
	for id, d := range n.backends[1].of(service) {
		all[id] = d
	}
	return all
}

// expectOneGateway: everything of a boot id came out of one gateway, each span
// once, and both gateways have work. Of this machine's there are spans and events,
// and metrics for Prometheus.
func (n *tiers) expectOneGateway(t *testing.T, owner, spans int, others map[string]bool) {
	t.Helper()
	boot := bootID(t)
	at := map[string]int{} // gateway of a boot id
	for i, b := range n.backends {
		here := map[string]bool{}
		for _, service := range []string{"e2e-shop", "e2e-plain", "e2e-other"} {
			for id, d := range b.of(service) {
				here[d.boot] = true
				if d.times != 1 {
					t.Errorf("span %s of %s came %d times out of gateway %d", id, service, d.times, i)
				}
				if d.boot != boot && !others[d.boot] {
					t.Errorf("span %s of %s has the boot id %q", id, service, d.boot)
				}
			}
		}
		for id := range here {
			if before, twice := at[id]; twice {
				t.Errorf("boot id %s: spans came out of gateway %d and of gateway %d", id, before, i)
			}
			at[id] = i
		}
		t.Logf("gateway %d: %d boot ids", i, len(here))
		if len(here) == 0 {
			t.Errorf("gateway %d has no work: %d boot ids are elsewhere", i, len(others))
		}
	}
	if len(at) != len(others)+1 || at[boot] != owner {
		t.Errorf("%d boot ids, this machine's at gateway %d; want %d, and %d", len(at), at[boot], len(others)+1, owner)
	}
	if got := len(n.backends[owner].of("e2e-shop")) + len(n.backends[owner].of("e2e-plain")); got != spans {
		t.Errorf("%d spans of this machine, want %d", got, spans)
	}
	for i, b := range n.backends {
		if told := b.told(boot); (told > 0) != (i == owner) {
			t.Errorf("gateway %d has %d events of this machine, whose gateway is %d", i, told, owner)
		}
		page, err := n.gateways[i].scrape()
		if err != nil {
			t.Fatal(err)
		}
		if has := strings.Contains(page, `otelgc_boot_id="`+boot+`"`); has != (i == owner) {
			t.Errorf("metrics of this machine at gateway %d: %v; its gateway is %d", i, has, owner)
		}
	}
}

// expectPlain: nobody watched the runtime of these spans, and the gateway says
// so; it charges them with what the machine did, and with nothing else.
func expectPlain(t *testing.T, got map[string]delivered, want map[string]made, stolen wallSpan) {
	t.Helper()
	var charged, expected float64
	for id, m := range want {
		d := got[id]
		if c, told := d.shares["otelgc.stall.coverage"]; !told || c != 0 {
			t.Errorf("span %s: coverage %v, told %v; want 0: nobody watched", id, c, told)
		}
		for name, s := range d.shares {
			switch name {
			case "otelgc.stall.coverage", "otelgc.stall.unseen", "otelgc.stall.uncertain":
			default:
				if s > 0 && !strings.HasPrefix(name, "otelgc.stall.host.") {
					t.Errorf("span %s: %s is %v, and nobody saw that", id, name, s)
				}
			}
		}
		overlap := max(0, time.Duration(min(m.end, stolen.end)-max(m.start, stolen.start))).Seconds()
		took := d.shares["otelgc.stall.host.steal"]
		if off := math.Abs(took - overlap); off > within+d.shares["otelgc.stall.uncertain"] {
			t.Errorf("span %s: host.steal %v, want %v: %v", id, took, overlap, d.shares)
		}
		charged, expected = charged+took, expected+overlap
	}
	t.Logf("of %d plain spans, %.3f ms of %.3f ms were charged to the machine", len(want), charged*1e3, expected*1e3)
	if charged == 0 {
		t.Error("nothing was charged to the machine")
	}
}
