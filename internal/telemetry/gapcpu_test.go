package telemetry

import (
	"fmt"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// TestGapCPU: the CPU is on the metric for who asks for it, as a series per CPU.
func TestGapCPU(t *testing.T) {
	for _, c := range []struct {
		asked bool
		want  string
	}{
		{false, "[none]"},
		{true, "[0 3 none]"},
	} {
		r := newRig(t, Options{GapCPU: c.asked})
		for _, v := range []stall.Interval{
			{CPU: 0, Scope: stall.ScopeCPU}, {CPU: 3, Scope: stall.ScopeCPU}, {CPU: -1, Scope: stall.ScopeMachine},
			{CPU: 0, Scope: stall.ScopeMachine}, // which does not matter
		} {
			v.Start, v.End, v.Origin = 1000, 1000+stall.Instant(5*time.Microsecond), stall.ProbeSpin
			v.Cause = stall.HostUnknown
			r.Gap(v, nothing)
		}
		if got := fmt.Sprint(sorted(gapCPUs(t, r))); got != c.want {
			t.Errorf("asked %v: the series are of CPUs %s, want %s", c.asked, got, c.want)
		}
	}
}

// gapCPUs returns the CPUs of the series of otelgc.jitter.gap.duration.
func gapCPUs(t *testing.T, r *rig) map[string]bool {
	t.Helper()
	cpus := make(map[string]bool)
	for _, m := range collect(t, r.reader) {
		if m.Name != semconv.MetricGapDuration {
			continue
		}
		for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
			if v, ok := p.Attributes.Value(semconv.AttrCPU); ok {
				cpus[v.String()] = true
			} else {
				cpus["none"] = true
			}
		}
	}
	return cpus
}
