package demo

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/blame"
	"github.com/otelgc/otelgc/sidecar/internal/demo/wire"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func TestGapAttribution(t *testing.T) {
	gap := func(start, end stall.Instant) *stall.Interval {
		return &stall.Interval{Start: start, End: end, Cause: stall.HostUnknown, Origin: stall.ProbePeriodic}
	}
	a := tell(t, func(out *wire.Writer) []error {
		return []error{
			out.Hello(hello()),
			out.Gap(gap(1000*us, 1040*us)), // too short to be reported
			out.Gap(gap(2000*us, 2100*us)), // half of it a pause
			out.Gap(gap(3000*us, 3100*us)), // less than half a pause, and a gap outside
			out.Gap(gap(4000*us, 4100*us)), // nothing
			out.Gap(gap(5000*us, 5100*us)), // a pause whose place is not known well enough
			out.Collection(&gc.Collection{Index: 1, Cycles: 1, Pauses: []gc.Pause{
				{Start: 2050 * us, End: 2200 * us}, {Start: 3000 * us, End: 3049 * us},
				{Start: 5000 * us, End: 5100 * us, Slack: time.Millisecond},
			}}),
			out.Farewell(&wire.Farewell{}),
		}
	})
	m, err := match(nil, a, new(followed))
	if err != nil {
		t.Fatal(err)
	}
	var o outsideGaps
	o.add(jitterprobe.Gap{Start: 3050 * us, End: 3080 * us})
	o.add(jitterprobe.Gap{Start: 4050 * us, End: 4060 * us}) // too short to be behind it
	want := blame.Inside{Mode: "periodic", Over50us: 4, GC: 1, Coincident: 1, Other: 2}
	if diff := cmp.Diff(want, o.attribute(m)); diff != "" {
		t.Errorf("attribution (-want +got):\n%s", diff)
	}
}
