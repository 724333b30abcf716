package attribution

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/collector/internal/budget"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

var strangers = flag.Int("strangers", 1_000_000, "boot ids that are told of once")

// TestMillionBootIDs: a million hosts that tell once, a process of each or its
// probe, while ten go on telling. The ten stay known without a break, no memory is
// taken beyond the limit, and each of the million is known, was forgotten, or was
// refused, and is counted as that.
func TestMillionBootIDs(t *testing.T) {
	const limit, aSecond = 16 << 20, 50_000
	before := heap()
	a, f := New(Config{MaxBytes: limit, MaxHosts: 1 << 30, MaxProcesses: 1 << 30}), newFleet(10, 2)
	f.tell(a, 10*time.Second)
	s := newSender()
	for i := 0; i < *strangers; {
		events := []plog.Logs{
			s.status(stall.GCWatch, f.at),
			s.gap(stall.ProbeSpin, stall.HostSteal, stall.ScopeMachine, f.at-ms, f.at),
		}
		for range aSecond {
			ld := events[i%len(events)]
			attributes(ld).PutStr(semconv.AttrBootID, fmt.Sprintf("5eb0e5c1-2a3b-4c4d-8e6f-%012x", i))
			a.Learn(ld)
			i++
		}
		f.tell(a, time.Second)
		if counted := a.Known(); counted > limit/budget.MostKnown {
			t.Fatalf("%d bytes are counted after %d of them, the limit of what is known is %d", counted, i, limit/budget.MostKnown)
		}
	}
	if took := heap() - before; took > limit/budget.MostKnown+limit/8 {
		t.Errorf("%d bytes are on the heap, the limit of what is known is %d", took, limit/budget.MostKnown)
	}
	lost, known := a.Lost(), len(a.known.hosts)-len(f.hosts)
	t.Logf("%d are known in %d kB, lost %+v", known, a.Known()>>10, lost)
	if got := known + int(lost.Events["limit"]+lost.HostsForgotten); got < *strangers {
		t.Errorf("%d are known, were forgotten or refused, want %d", got, *strangers)
	}
	if lost.Events["limit"] == 0 || lost.HostsForgotten == 0 {
		t.Errorf("lost %+v, want some refused while others were alive, and some forgotten for others", lost)
	}
	since := stall.Span{Start: stall.Instant(1010 * sec), End: stall.Instant(f.at - 6*sec)}
	for _, s := range f.procs {
		if p := a.known.exact[identityOf(s)]; p == nil || p.runtime[stall.GCWatch].Coverage(since) != 1 {
			t.Fatalf("process %d of host %s is not known without a break", s.pid, s.boot)
		}
	}
}
