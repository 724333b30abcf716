package e2e

import (
	"fmt"
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"
	"google.golang.org/grpc"

	"github.com/otelgc/otelgc/semconv"
)

// TestStamp: what comes to an agent as it is shipped is of its machine, whatever it
// says, and has the stamp if it came in by the sidecar's port, whatever it says.
func TestStamp(t *testing.T) {
	t.Parallel()
	n := &tiers{agent: newSite(t, ""), wait: briefly, clients: map[string]*grpc.ClientConn{}}
	b := newBackend(t)
	agent := n.agent.collectBy(t, agentConfig, n.patience(), "OTELGC_GATEWAYS_INSECURE=true", fmt.Sprintf("OTELGC_GATEWAYS={static: {hostnames: [%s]}}", b.addr))
	for service, port := range map[string]string{"by any port": n.agent.grpc, "by the sidecar's": n.agent.sidecar} {
		ld := plog.NewLogs()
		rl := ld.ResourceLogs().AppendEmpty()
		a := rl.Resource().Attributes()
		a.PutStr("service.name", service)
		a.PutStr(semconv.AttrBootID, "another")
		a.PutStr(semconv.AttrStamp, semconv.StampSidecar)
		rl.ScopeLogs().AppendEmpty().LogRecords().AppendEmpty().SetEventName(semconv.EventGap)
		n.tellBy(t, port, ld)
	}
	want := map[string]any{"by any port": nil, "by the sidecar's": semconv.StampSidecar}
	eventually(t, "both events", func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if len(b.all) < len(want) {
			return fmt.Errorf("%d of %d", len(b.all), len(want))
		}
		return nil
	}, agent)
	agent.end(t)
	for _, e := range b.all {
		if got := e.resource[semconv.AttrStamp]; got != want[e.service] || e.resource[semconv.AttrBootID] != bootID(t) {
			t.Errorf("what came %s is %v, want the stamp %v and this boot", e.service, e.resource, want[e.service])
		}
	}
}
