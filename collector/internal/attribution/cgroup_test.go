package attribution

import (
	"testing"

	"go.opentelemetry.io/collector/pdata/plog"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// in makes a status that says in which cgroups the process is.
func (s *sender) in(at int64, cgroups ...int64) plog.Logs {
	ld := s.status(stall.GCWatch, at)
	list := attributes(ld).PutEmptySlice(semconv.AttrCgroupIDs)
	for _, id := range cgroups {
		list.AppendEmpty().SetInt(id)
	}
	return ld
}

// TestCgroups: what a probe was throttled with its cgroup is charged to who is in
// that cgroup, or below it, and to nobody else.
func TestCgroups(t *testing.T) {
	for name, x := range map[string]struct {
		cgroups []int64 // of the process
		gap     int64   // of the probe's
		inside  bool    // the probe is the process's own
		want    float64
	}{
		"its own":            {[]int64{30, 3}, 30, false, 2e-3},
		"an ancestor":        {[]int64{30, 3}, 3, false, 2e-3},
		"another":            {[]int64{30, 3}, 31, false, 0},
		"none that is known": {nil, 3, false, 0},
		"none":               {[]int64{0, -3}, 0, false, 0},
		"its own probe":      {[]int64{30, 3}, 30, true, 0},
	} {
		s, a, c := newSender(), New(Config{}), new(catcher)
		probe := *s
		if !x.inside {
			probe.pid = 7
		}
		a.Learn(s.in(99*sec, 8))
		a.Learn(s.in(100*sec, x.cgroups...))
		gap := probe.gap(stall.ProbePeriodic, stall.HostThrottled, stall.ScopeCgroup, 100*sec+ms, 100*sec+3*ms)
		attributes(gap).PutInt(semconv.AttrCgroupID, x.gap)
		a.Learn(gap)
		a.Learn(s.in(101*sec, x.cgroups...))
		a.Hold(s.span(100*sec, 100*sec+10*ms), c.sink(), start)
		a.Flush()
		if got := floats(c.spans[0].Attributes())["otelgc.stall.host.throttled"]; got != x.want {
			t.Errorf("%s: host.throttled is %v, want %v", name, got, x.want)
		}
	}
}

// TestManyCgroups: a list that no process can be in takes no more than its part.
func TestManyCgroups(t *testing.T) {
	s, a := newSender(), New(Config{})
	many := make([]int64, 100_000)
	for i := range many {
		many[i] = int64(i + 1)
	}
	a.Learn(s.in(100*sec, many...))
	before := a.Known()
	if p := a.known.exact[identityOf(s)]; len(p.cgroups) != semconv.MaxCgroups {
		t.Errorf("%d cgroups are kept, want %d", len(p.cgroups), semconv.MaxCgroups)
	}
	a.Learn(s.in(101*sec, 3))
	if got, want := a.Known(), before-(semconv.MaxCgroups-1)*cgroupBytes; got != want {
		t.Errorf("%d bytes are counted after it moved, want %d", got, want)
	}
	checkKnown(t, a, Default().MaxBytes)
}
