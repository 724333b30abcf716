package attribution

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/collector/internal/wire"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// carrier is a span of 10 ms that its process gave these shares, and a gap of the
// machine in it. Of a process that is mute nothing came but its spans.
type carrier struct {
	fidelity string
	brought  map[string]float64
	gap      func(*sender) plog.Logs
	want     map[string]float64
	mute     bool
}

// of makes the attributes of shares.
func of(shares map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for owner, v := range shares {
		all[semconv.AttrStallPrefix+owner] = v
	}
	return all
}

// TestCarried: what a process charged itself stays as it is, and the machine's
// part alone comes to it: of time of which the process could not say whether it
// was the machine's, and no more than for certain lies there.
func TestCarried(t *testing.T) {
	type shares = map[string]float64
	preempted := func(d int64) func(*sender) plog.Logs {
		return func(s *sender) plog.Logs {
			return s.gap(stall.TargetWatch, stall.HostPreempted, stall.ScopeTarget, 100*sec+ms, 100*sec+ms+d)
		}
	}
	stolen := func(d int64) func(*sender) plog.Logs {
		return func(s *sender) plog.Logs {
			return s.gap(stall.ProbeSpin, stall.HostSteal, stall.ScopeMachine, 100*sec+ms, 100*sec+ms+d)
		}
	}
	for name, x := range map[string]carrier{
		"it ran": {
			fidelity: "exact", brought: shares{"app_or_host": 10e-3, "unseen": 0, "coverage": 1}, gap: preempted(2 * ms),
			want: shares{"host.preempted": 2e-3, "app_or_host": 8e-3, "unseen": 0, "coverage": 1},
		},
		"it may have assisted": {
			fidelity: "exact", brought: shares{"gc.assist": 4e-3, "app_or_host": 6e-3}, gap: preempted(3 * ms),
			want: shares{"gc.assist": 4e-3, "app_or_host": 6e-3},
		},
		"it may have wanted a processor": {
			fidelity: "exact", brought: shares{"sched": 4e-3, "sched.gc": 1e-3, "app_or_host": 5e-3}, gap: preempted(6 * ms),
			want: shares{"sched": 4e-3, "sched.gc": 1e-3, "host.preempted": 1e-3, "app_or_host": 4e-3},
		},
		"a stop that was told is no part of the gap": {
			fidelity: "exact", brought: shares{"gc.pause": 1e-3, "app_or_host": 9e-3}, gap: preempted(2 * ms),
			want: shares{"gc.pause": 1e-3, "host.preempted": 2e-3, "app_or_host": 7e-3},
		},
		"stops that were not told may be": {
			fidelity: "exact", brought: shares{"gc.pause": 1e-3, "runtime.suspension": 2e-3, "app_or_host": 7e-3}, gap: stolen(4 * ms),
			want: shares{"gc.pause": 1e-3, "runtime.suspension": 2e-3, "host.steal": 1e-3, "app_or_host": 6e-3}, mute: true,
		},
		"per cycle, too": {
			fidelity: "cycle", brought: shares{"gc.pause": 3e-3, "unseen": 7e-3}, gap: stolen(3 * ms),
			want: shares{"gc.pause": 3e-3, "unseen": 7e-3}, mute: true,
		},
		"it was preempted meanwhile, and nobody told that": {
			fidelity: "exact", brought: shares{"host.preempted": 3e-3, "app_or_host": 7e-3}, gap: stolen(3 * ms),
			want: shares{"host.preempted": 3e-3, "app_or_host": 7e-3},
		},
		"it may have waited": {
			fidelity: "exact", brought: shares{"app": 7e-3, "app_or_host": 3e-3, "unseen": 0}, gap: preempted(2 * ms),
			want: shares{"app": 7e-3, "app_or_host": 3e-3, "unseen": 0},
		},
		"for a part it cannot have waited": {
			fidelity: "exact", brought: shares{"app": 1e-3, "gc.wait": 1e-3, "app_or_host": 8e-3, "unseen": 0}, gap: preempted(5 * ms),
			want: shares{"app": 1e-3, "gc.wait": 1e-3, "app_or_host": 5e-3, "host.preempted": 3e-3, "unseen": 0},
		},
		"it may have assisted meanwhile": {
			fidelity: "exact", brought: shares{"gc.assist": 3e-3, "sched": 1e-3, "app_or_host": 6e-3, "unseen": 0}, gap: stolen(3 * ms),
			want: shares{"gc.assist": 3e-3, "sched": 1e-3, "app_or_host": 6e-3, "unseen": 0},
		},
		"it was watched: the machine left it alone": {
			fidelity: "exact", brought: shares{"app": 10e-3, "unseen": 0}, gap: preempted(5 * ms), want: shares{"app": 10e-3, "unseen": 0},
		},
		"it knew of the cause": {
			fidelity: "exact", brought: shares{"host.preempted": 1e-3, "app_or_host": 9e-3, "unseen": 0}, gap: preempted(3 * ms),
			want: shares{"host.preempted": 1e-3, "app_or_host": 9e-3, "unseen": 0},
		},
		"per cycle, at most": {
			fidelity: "cycle", brought: shares{"gc.pause": 1e-3, "uncertain": 1e-3, "unseen": 8e-3, "coverage": 0}, gap: stolen(3 * ms),
			want: shares{"gc.pause": 1e-3, "uncertain": 1e-3, "unseen": 5e-3, "host.steal": 3e-3, "coverage": 0},
		},
		"watched in part": {
			fidelity: "cycle", brought: shares{"app_or_host": 2e-3, "unseen": 8e-3}, gap: preempted(3 * ms),
			want: shares{"app_or_host": 0, "unseen": 7e-3, "host.preempted": 3e-3},
		},
		"nothing to gain, and no round figures": {
			fidelity: "exact", brought: shares{"app": 0.0012345678912345, "app_or_host": 0.0087654321, "unseen": 1e-12}, gap: stolen(ms),
			want: shares{"app": 0.0012345678912345, "app_or_host": 0.0087654321, "unseen": 1e-12},
		},
		"a process that told of charges alone": {
			fidelity: "exact", brought: shares{"gc.pause": 1e-3}, gap: preempted(3 * ms), want: shares{"gc.pause": 1e-3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, a, c := newSender(), New(Config{}), new(catcher)
			td := s.span(100*sec, 100*sec+10*ms)
			m := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
			m.PutStr(semconv.AttrFidelity, x.fidelity)
			m.PutStr(semconv.AttrGCOverlap, "none")
			for k, v := range of(x.brought) {
				m.PutDouble(k, v)
			}
			a.Learn(x.gap(s))
			a.Learn(s.gap(stall.ProbeSpin, stall.HostIRQ, stall.ScopeCPU, 100*sec+5*ms, 100*sec+7*ms))
			if x.mute { // the host is known by its probe
				a.Learn(s.status(stall.ProbeSpin, 101*sec))
			} else {
				a.Learn(s.collection(stall.GCWatch, 1, 100*sec+8*ms, 100*sec+9*ms, 0))
				a.Learn(s.status(stall.GCWatch, 101*sec))
			}
			a.Hold(td, c.sink(), start)
			a.Flush()
			if diff := cmp.Diff(of(x.want), floats(c.spans[0].Attributes())); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			if got := a.counted(t); !cmp.Equal(got, 10e-3, near) {
				t.Errorf("the request counts for %v s, want all of its 10 ms", got)
			}
		})
	}
}

// counted returns the time of the requests that were counted, and wants their
// owners to have all of it.
func (a *Attributor) counted(t *testing.T) float64 {
	t.Helper()
	sums := map[string]float64{}
	md, _ := summed(a, start, start.Add(time.Second))
	for _, rm := range md.ResourceMetrics().All() {
		for _, metric := range rm.ScopeMetrics().At(0).Metrics().All() {
			for _, p := range metric.Sum().DataPoints().All() {
				sums[metric.Name()] += p.DoubleValue()
				if b := wire.Text(p.Attributes(), semconv.AttrLatencyBucket); b != "le_10ms" {
					t.Errorf("%s: bucket %s, want le_10ms", metric.Name(), b)
				}
			}
		}
	}
	if got, want := sums[semconv.MetricRequestStallTime], sums[semconv.MetricRequestTime]; !cmp.Equal(got, want, cmpopts.EquateApprox(0, 1e-9)) {
		t.Errorf("the owners have %v s of %v s", got, want)
	}
	return sums[semconv.MetricRequestTime]
}
