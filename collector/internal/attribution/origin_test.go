package attribution

import (
	"math"
	"strconv"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestOriginIsReadOnce: a resource with many attributes costs one look through them,
// however many events it has: that many times as many would be minutes for a few MB.
// Who loses the CPU meanwhile takes longer, and so is looked at again.
func TestOriginIsReadOnce(t *testing.T) {
	const attributes, events, tries = 5_000, 2_000, 200
	one, all := eventsOf(1, events), eventsOf(attributes, events)
	few, many := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range tries {
		few, many = min(few, learning(one)), min(many, learning(all))
		if many <= 20*few {
			return
		}
	}
	t.Errorf("%d events of a resource with %d attributes take %v at best, with one %v: they are looked at for each event", events, attributes, many, few)
}

// eventsOf makes so many events of a resource with so many attributes.
func eventsOf(attributes, events int) plog.Logs {
	ld := plog.NewLogs()
	rl := ld.ResourceLogs().AppendEmpty()
	for i := range attributes {
		rl.Resource().Attributes().PutEmpty(strconv.Itoa(i))
	}
	records := rl.ScopeLogs().AppendEmpty().LogRecords()
	for range events {
		records.AppendEmpty().SetEventName(semconv.EventSuspension)
	}
	return ld
}

func learning(ld plog.Logs) time.Duration {
	began := time.Now()
	New(Config{}).Learn(ld)
	return time.Since(began)
}

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
