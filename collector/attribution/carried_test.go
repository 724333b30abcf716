package attribution

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/stall"
)

// carrier is a span of 10 ms that its process gave these shares, and a gap of the
// machine in it.
type carrier struct {
	fidelity string
	brought  map[string]float64
	gap      func(*sender) plog.Logs
	want     map[string]float64
}

// of makes the attributes of shares.
func of(shares map[string]float64) map[string]float64 {
	all := map[string]float64{}
	for owner, v := range shares {
		all[stall.AttrStallPrefix+owner] = v
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
			"exact", shares{"gc.assist": 4e-3, "app_or_host": 6e-3, "unseen": 0, "coverage": 1}, preempted(2 * ms),
			shares{"gc.assist": 4e-3, "host.preempted": 2e-3, "app_or_host": 4e-3, "unseen": 0, "coverage": 1},
		},
		"it may have waited": {
			"exact", shares{"app": 7e-3, "app_or_host": 3e-3, "unseen": 0}, preempted(2 * ms),
			shares{"app": 7e-3, "app_or_host": 3e-3, "unseen": 0},
		},
		"for a part it cannot have waited": {
			"exact", shares{"app": 1e-3, "gc.wait": 1e-3, "app_or_host": 8e-3, "unseen": 0}, preempted(5 * ms),
			shares{"app": 1e-3, "gc.wait": 1e-3, "app_or_host": 5e-3, "host.preempted": 3e-3, "unseen": 0},
		},
		"it may have assisted meanwhile": {
			"exact", shares{"gc.assist": 3e-3, "sched": 1e-3, "app_or_host": 6e-3, "unseen": 0}, stolen(3 * ms),
			shares{"gc.assist": 3e-3, "sched": 1e-3, "app_or_host": 6e-3, "unseen": 0},
		},
		"it was watched: the machine left it alone": {
			"exact", shares{"app": 10e-3, "unseen": 0}, preempted(5 * ms), shares{"app": 10e-3, "unseen": 0},
		},
		"it knew of the cause": {
			"exact", shares{"host.preempted": 1e-3, "app_or_host": 9e-3, "unseen": 0}, preempted(3 * ms),
			shares{"host.preempted": 1e-3, "app_or_host": 9e-3, "unseen": 0},
		},
		"per cycle, at most": {
			"cycle", shares{"gc.pause": 1e-3, "uncertain": 1e-3, "unseen": 8e-3, "coverage": 0}, stolen(3 * ms),
			shares{"gc.pause": 1e-3, "uncertain": 1e-3, "unseen": 5e-3, "host.steal": 3e-3, "coverage": 0},
		},
		"watched in part": {
			"cycle", shares{"app_or_host": 2e-3, "unseen": 8e-3}, preempted(3 * ms),
			shares{"app_or_host": 0, "unseen": 7e-3, "host.preempted": 3e-3},
		},
		"nothing to gain, and no round figures": {
			"exact", shares{"app": 0.0012345678912345, "app_or_host": 0.0087654321, "unseen": 1e-12}, stolen(ms),
			shares{"app": 0.0012345678912345, "app_or_host": 0.0087654321, "unseen": 1e-12},
		},
		"a process that told of charges alone": {
			"exact", shares{"gc.pause": 1e-3}, preempted(3 * ms), shares{"gc.pause": 1e-3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, a, c := newSender(), New(Config{}), new(catcher)
			td := s.span(100*sec, 100*sec+10*ms)
			m := td.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
			m.PutStr(stall.AttrFidelity, x.fidelity)
			m.PutStr(stall.AttrGCOverlap, "none")
			for k, v := range of(x.brought) {
				m.PutDouble(k, v)
			}
			a.Learn(x.gap(s))
			a.Learn(s.gap(stall.ProbeSpin, stall.HostIRQ, stall.ScopeCPU, 100*sec+5*ms, 100*sec+7*ms))
			a.Learn(s.collection(stall.GCWatch, 1, 100*sec+8*ms, 100*sec+9*ms, 0)) // told in vain
			a.Learn(s.status(stall.GCWatch, 101*sec))
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
	md, _ := a.Metrics(start, start.Add(time.Second), "")
	for _, rm := range md.ResourceMetrics().All() {
		for _, metric := range rm.ScopeMetrics().At(0).Metrics().All() {
			for _, p := range metric.Sum().DataPoints().All() {
				sums[metric.Name()] += p.DoubleValue()
				if b := text(p.Attributes(), stall.AttrLatencyBucket); b != "le_10ms" {
					t.Errorf("%s: bucket %s, want le_10ms", metric.Name(), b)
				}
			}
		}
	}
	if got, want := sums[stall.MetricRequestStallTime], sums[stall.MetricRequestTime]; !cmp.Equal(got, want, cmpopts.EquateApprox(0, 1e-9)) {
		t.Errorf("the owners have %v s of %v s", got, want)
	}
	return sums[stall.MetricRequestTime]
}

// TestCarriedTwice: an attribute that comes twice, as no SDK sends it, counts once.
func TestCarriedTwice(t *testing.T) {
	s, a, c := newSender(), New(Config{}), new(catcher)
	once := s.span(100*sec, 100*sec+10*ms)
	m := once.ResourceSpans().At(0).ScopeSpans().At(0).Spans().At(0).Attributes()
	m.PutStr(stall.AttrFidelity, "cycle")
	m.PutDouble(attrUnseen, 10e-3)
	m.PutDouble("again", 10e-3)
	text, err := new(ptrace.JSONMarshaler).MarshalTraces(once)
	if err != nil {
		t.Fatal(err)
	}
	td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(bytes.ReplaceAll(text, []byte("again"), []byte(attrUnseen)))
	if err != nil {
		t.Fatal(err)
	}
	a.Hold(td, c.sink(), start)
	a.Flush()
	if got := a.counted(t); !cmp.Equal(got, 10e-3, near) {
		t.Errorf("the request counts for %v s, want 10 ms", got)
	}
}
