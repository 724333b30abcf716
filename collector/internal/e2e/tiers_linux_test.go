package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"
)

// The configurations of the two tiers, as they are shipped.
const (
	configs       = "../../../charts/otelgc/config/"
	agentConfig   = configs + "agent.yaml"
	gatewayConfig = configs + "gateway.yaml"
)

// tiers is a node and what stands behind it: one agent that shares out to two
// gateways, each with a backend of its own.
type tiers struct {
	agent    *site
	gateways [2]*site
	backends [2]*backend
	running  [3]*process // the gateways, the agent
	wait     time.Duration
	clients  map[string]*grpc.ClientConn // of the agent, by its ports
}

// long is how long spans are held: no machine is so slow that events come later.
// Those of which somebody tells do not wait for it, those of which nobody does wait
// for all of it.
const long = time.Minute

// briefly is for tests that ask for no attribution, of services of which nobody tells.
const briefly = 2 * time.Second

// newTiers starts both tiers. Gateways hold spans for at most wait.
func newTiers(t *testing.T, wait time.Duration) *tiers {
	t.Helper()
	n := &tiers{agent: newSite(t, ""), wait: wait, clients: map[string]*grpc.ClientConn{}}
	n.agent.stamps = true
	for i := range n.gateways {
		n.gateways[i], n.backends[i] = newSite(t, ""), newBackend(t)
		n.gateway(t, i)
	}
	n.startAgent(t)
	return n
}

// startAgent starts the agent, or starts it again at the same place.
func (n *tiers) startAgent(t *testing.T) {
	t.Helper()
	// The tests are many machines that each say which they are.
	n.running[2] = n.agent.collectBy(t, agentConfig, n.patience(), "OTELGC_GATEWAYS_INSECURE=true", "OTELGC_BOOT_ACTION=insert",
		fmt.Sprintf("OTELGC_GATEWAYS={static: {hostnames: [%s, %s]}}", n.gateways[0].grpc, n.gateways[1].grpc))
}

// patience is that of the agent for a gateway, and of a gateway for its backend: as long
// as spans may be held, and what a slow machine may take to hand them on. Who gives up
// sends them again.
func (n *tiers) patience() string { return "OTELGC_TIMEOUT=" + (2*n.wait + long).String() }

// gateway starts a gateway, or starts it again at the same place.
func (n *tiers) gateway(t *testing.T, i int) {
	t.Helper()
	n.running[i] = n.gateways[i].collectBy(t, gatewayConfig, n.patience(),
		"OTELGC_BACKEND="+n.backends[i].addr, "OTELGC_BACKEND_INSECURE=true", "OTELGC_WAIT="+n.wait.String())
}

// stop ends the agent, then the gateways: each hands on what it holds.
func (n *tiers) stop(t *testing.T) {
	t.Helper()
	for _, p := range []*process{n.running[2], n.running[0], n.running[1]} {
		p.end(t)
	}
}

// owner returns the gateway that spans of a service come out of; all of them
// come out of one.
func (n *tiers) owner(t *testing.T, service string, ps ...*process) int {
	t.Helper()
	var owner int
	eventually(t, "a span of "+service, func() error {
		for i, b := range n.backends {
			if len(b.of(service)) > 0 {
				owner = i
				return nil
			}
		}
		return fmt.Errorf("none came")
	}, ps...)
	return owner
}

// ownMetric sums the samples of a metric on the page that a Collector has on itself.
func (s *site) ownMetric(metric string) (sum float64, err error) {
	page, err := get("http://" + s.self + "/metrics")
	if err != nil {
		return 0, err
	}
	for _, m := range regexp.MustCompile(`(?m)^`+metric+`(?:_total)?\{[^}]*\} (\S+)$`).FindAllStringSubmatch(page, -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, err
		}
		sum += v
	}
	return sum, nil
}

// made is a span that a plain service made, Unix ns.
type made struct{ start, end int64 }

// madeSpans reads what plain has written down so far.
func madeSpans(t *testing.T, file string) map[string]made {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // it has only begun
		t.Fatal(err)
	}
	all := map[string]made{}
	for line := range bytes.Lines(text) {
		var s struct {
			Span       string
			Start, End int64
		}
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // under way
		}
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		all[s.Span] = made{s.Start, s.End}
	}
	return all
}
