package attribution

import (
	"testing"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestOriginOfEach: what an event says of itself overrides the resource, for itself
// alone; but for the machine, which an agent may have stamped on the resource.
func TestOriginOfEach(t *testing.T) {
	s, a := newSender(), New(Config{})
	s.boot = "of one"
	ld := s.status(stall.GCWatch, 101*sec)
	rl := ld.ResourceLogs().At(0)
	rl.Resource().Attributes().PutStr(semconv.AttrBootID, "of the resource")
	r := rl.ScopeLogs().At(0).LogRecords().AppendEmpty()
	rl.ScopeLogs().At(0).LogRecords().At(0).CopyTo(r)
	r.Attributes().PutInt(semconv.AttrProcessPID, 43)
	a.Learn(ld)
	if h := a.known.hosts["of the resource"]; len(a.known.hosts) != 1 || h == nil || h.processes.Len() != 2 {
		t.Errorf("%d hosts are known, want the resource's, with both processes", len(a.known.hosts))
	}
}
