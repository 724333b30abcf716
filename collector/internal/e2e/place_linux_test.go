package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// place is where what was sent comes out, and who has to be alive for that.
type place struct {
	spans  func(service string) map[string]said
	events func() []event
	ps     []*process
}

// place is what the Collector of a site writes.
func (s *site) place(collector *process) place {
	return place{s.attributed, func() []event { return s.read().events }, []*process{collector}}
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
	return place{spans, events, n.running[:]}
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

// startShop starts a shop, as prepare says and by another program that becomes it. It
// works from when begin is called: when it has told its first status, before which
// nobody outside can know that it was watched.
func (p place) startShop(t *testing.T, prepare func(*exec.Cmd), by []string, service string, env []string, args ...string) (shop *process, begin func()) {
	t.Helper()
	in, gate, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = gate.Close() }) // it may be closed
	shop = startBy(t, by, func(c *exec.Cmd) { c.Stdin = in; prepare(c) }, env, programs(t).shop, args...)
	_ = in.Close() // the shop has it
	return shop, func() {
		t.Helper()
		eventually(t, "the first status of "+service, func() error {
			if _, ok := find(p.events(), service, "otelgc.source.status"); !ok {
				return fmt.Errorf("none came")
			}
			return nil
		}, append(p.ps, shop)...)
		_ = gate.Close()
	}
}

// asItIs prepares nothing.
func asItIs(*exec.Cmd) {}

// startBy starts a program by another that becomes it.
func startBy(t *testing.T, by []string, prepare func(*exec.Cmd), env []string, path string, args ...string) *process {
	t.Helper()
	all := append(append(append([]string{}, by...), path), args...)
	return startAs(t, prepare, env, all[0], all[1:]...)
}
