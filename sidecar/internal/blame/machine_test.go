package blame

import (
	"testing"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// probed is what a probe saw that lost time to causes.
func probed(mode jitterprobe.Mode, cpu int, gaps uint64, observed, longest time.Duration, causes map[stall.Cause]time.Duration) Outside {
	o := Outside{Board: true}
	o.Mode, o.CPU, o.Gaps, o.Watermark = mode, cpu, gaps, stall.Instant(observed)
	o.Longest.End = stall.Instant(longest)
	for c, d := range causes {
		o.Causes[c].Time = d
		o.GapTime += d
	}
	return o
}

// TestMachine: a reason is given for what was seen, and no cause that the gaps do
// not have.
func TestMachine(t *testing.T) {
	const observed = 10 * time.Second
	requests := func(charged, coincident time.Duration) Summary {
		s := share(10*ms, stall.Exact, appOrHost, map[stall.Cause]time.Duration{stall.HostThrottled: charged})
		s.Coincident[stall.HostSteal] = coincident
		return summarize([]Case{{Share: s}})
	}
	outside := func(causes map[stall.Cause]time.Duration) Outside {
		return probed(jitterprobe.Spin, 1, 7, observed, ms, causes)
	}
	quiet := map[stall.Cause]time.Duration{stall.HostPreempted: 10 * ms}
	unread := outside(quiet)
	unread.Board = false
	for _, tt := range []struct {
		name    string
		outside Outside
		summary Summary
		want    string
	}{
		{"nobody", Outside{}, requests(0, 0), "Nobody watched the machine."},
		{"no gap", probed(jitterprobe.Spin, 1, 0, observed, 0, nil), requests(0, 0),
			"The probe outside saw no gap on CPU 1."},
		{"no gap, but a cgroup", probed(jitterprobe.Spin, 1, 0, observed, 0, nil), requests(3*ms, 0),
			"The probe outside saw no gap on CPU 1. The machine (host.throttled: the CPU quota was used up) had 30 % of the requests' time."},
		{"gaps beside the requests", outside(quiet), requests(0, 0),
			"The probe outside saw 7 gaps on CPU 1 (0.1 % of its time, longest 1.00 ms); none is charged to a request."},
		{"gaps during requests", outside(quiet), requests(0, ms),
			"The probe outside saw 7 gaps on CPU 1 (0.1 % of its time, longest 1.00 ms); none is charged to a request, since a gap on one CPU says nothing about a thread on another."},
		{"nobody read them", unread, requests(0, 0),
			"The probe outside saw 7 gaps on CPU 1 (0.1 % of its time, longest 1.00 ms), but the service could not read them, so requests were not compared with them."},
		{"stopped", outside(map[stall.Cause]time.Duration{stall.HostSuspended: 4 * time.Second}), requests(0, 0),
			"The probe outside saw 7 gaps on CPU 1 (40 % of its time, longest 1.00 ms; 40 % host.suspended: it slept, or the process was stopped); none is charged to a request."},
		{"several", outside(map[stall.Cause]time.Duration{stall.HostSteal: 2 * time.Second, stall.HostPreempted: 6 * time.Second, stall.HostIRQ: ms}), requests(0, 0),
			"The probe outside saw 7 gaps on CPU 1 (80 % of its time, longest 1.00 ms; 60 % host.preempted: others had the CPU; 20 % host.steal: the hypervisor had the CPU); none is charged to a request."},
	} {
		r := &Report{Requests: 1, Summary: tt.summary, Outside: tt.outside}
		if got := r.machine(); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", tt.name, got, tt.want)
		}
	}
}
