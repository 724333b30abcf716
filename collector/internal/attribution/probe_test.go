package attribution

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/otelgc/otelgc/stall"
)

// TestTwoProbes: the sidecar of a machine and the one in a pod run a probe of one
// kind each. A span waits for both, and what the one saw does not make late what
// the other sent.
func TestTwoProbes(t *testing.T) {
	a, c := New(Config{}), new(catcher)
	node, pod, s := newSender(), newSender(), newSender()
	node.pid, pod.pid = 7, 8
	node.with, pod.with = m{"host.name": "node"}, m{"host.name": "pod"}
	for _, from := range []*sender{node, pod} {
		a.Learn(from.status(stall.ProbePeriodic, 99*sec))
	}
	a.Learn(s.status(stall.GCWatch, 101*sec))
	a.Learn(node.status(stall.ProbePeriodic, 101*sec))
	a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
	if a.Tick(start); len(c.spans) != 0 {
		t.Fatal("the span went on before the probe of the pod had passed it")
	}
	a.Learn(pod.gap(stall.ProbePeriodic, stall.HostSteal, stall.ScopeMachine, 100*sec+ms, 100*sec+3*ms))
	a.Learn(pod.status(stall.ProbePeriodic, 101*sec))
	if a.Tick(start); len(c.spans) != 1 {
		t.Fatal("the span waits although both probes have passed it")
	}
	if got := floats(c.spans[0].Attributes())["otelgc.stall.host.steal"]; !cmp.Equal(got, 2e-3, cmpopts.EquateApprox(0, 2e-6)) {
		t.Errorf("host.steal: got %v, want 2 ms", got)
	}
	if got := a.Lost().Events; len(got) != 0 {
		t.Errorf("lost %v, want nothing", got)
	}
	if diff := cmp.Diff([]string{"node", "pod"}, a.known.hosts[boot].names()); diff != "" {
		t.Errorf("names of the machine (-want +got):\n%s", diff)
	}
}

// TestProbesBounded: however often a sidecar begins anew, and however many there
// are, few of its probes are known, and all of their memory is counted off.
func TestProbesBounded(t *testing.T) {
	for name, x := range map[string]struct {
		apart int64 // between two starts
		most  int
	}{
		"at once":       {0, keptProbes},
		"a minute each": {60 * sec, 1},
	} {
		a, s := New(Config{Wait: 10 * time.Second}), newSender()
		for i := range int64(100) {
			s.pid, s.with = i+1, m{"host.name": time.Duration(i).String()}
			a.Tick(start.Add(time.Duration(i * x.apart)))
			a.Learn(s.status(stall.GCWatch, 100*sec+i*x.apart)) // so that time passes
			a.Learn(s.status(stall.ProbeSpin, 100*sec+i*x.apart))
			h := a.known.hosts[boot]
			if len(h.probes) > x.most || len(a.known.named) != len(h.probes) {
				t.Fatalf("%s: %d probes and %d names after %d, want at most %d of each", name, len(h.probes), len(a.known.named), i+1, x.most)
			}
		}
		a.known.forgetHost(a.known.hosts[boot])
		if a.Known() != 0 || len(a.known.named) != 0 {
			t.Errorf("%s: with the host forgotten: %d bytes, %d names", name, a.Known(), len(a.known.named))
		}
	}
}
