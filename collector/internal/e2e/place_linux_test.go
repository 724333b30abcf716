package e2e

import (
	"fmt"
	"os/exec"
	"testing"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// place is where what was sent comes out, and who has to be alive for that.
type place struct {
	spans  func(service string) map[string]said
	events func() []event
	ps     []*process
	shop   string // the program whose spans come out there
}

// place is what the Collector of a site writes.
func (s *site) place(collector *process) place {
	return place{s.attributed, func() []event { return s.read().events }, []*process{collector}, s.programs.shop}
}

// place is what comes out of both gateways.
func (n *tiers) place() place {
	spans := func(service string) map[string]said {
		got := map[string]said{}
		for id, d := range n.of(service) {
			got[id] = d.said
		}
		return got
	}
	events := func() []event { return append(n.backends[0].heard(), n.backends[1].heard()...) }
	return place{spans, events, n.running[:], n.agent.programs.shop}
}

// come waits for so many spans of a service.
func (p place) come(t *testing.T, service string, want int) (got map[string]said) {
	t.Helper()
	eventually(t, "all spans of "+service, func() error {
		if got = p.spans(service); len(got) < want {
			return fmt.Errorf("%d of %d", len(got), want)
		}
		return nil
	}, p.ps...)
	return got
}

// hear waits until a source of a service has said that it saw all up to an instant.
func (p place) hear(t *testing.T, service string, source stall.Origin, upTo int64, ps ...*process) {
	t.Helper()
	eventually(t, fmt.Sprintf("what %s of %s saw", source, service), func() error {
		for _, e := range p.events() {
			mark, _ := e.attrs[semconv.AttrWatermark].(int64)
			if e.service == service && e.name == semconv.EventSourceStatus && e.attrs[semconv.AttrSource] == source.String() && mark >= upTo {
				return nil
			}
		}
		return fmt.Errorf("it has not told since")
	}, append(ps, p.ps...)...)
}

// asItIs prepares nothing.
func asItIs(*exec.Cmd) {}

// startBy starts a program by another that becomes it.
func startBy(t *testing.T, by []string, prepare func(*exec.Cmd), env []string, path string, args ...string) *process {
	t.Helper()
	all := append(append(append([]string{}, by...), path), args...)
	return startAs(t, prepare, env, all[0], all[1:]...)
}
