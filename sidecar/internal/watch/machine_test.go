package watch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

func cpuGap(from, to stall.Instant, c stall.Cause) jitterprobe.Gap {
	return jitterprobe.Gap{Interval: stall.Interval{Start: from, End: to, Cause: c, Scope: stall.ScopeCPU, Slack: 5}}
}

func TestMachineIsWhatAllHaveInCommon(t *testing.T) {
	const u = stall.HostIRQOrSteal
	type stretch struct {
		From, To stall.Instant
		Cause    stall.Cause
	}
	for _, test := range []struct {
		name      string
		gaps      [3][]jitterprobe.Gap
		watermark stall.Instant
		want      []stretch
	}{
		{"none", [3][]jitterprobe.Gap{}, 1000, nil},
		{"one CPU has none", [3][]jitterprobe.Gap{{cpuGap(100, 200, u)}, {cpuGap(110, 190, u)}}, 1000, nil},
		{"all", [3][]jitterprobe.Gap{{cpuGap(100, 200, u)}, {cpuGap(110, 190, u)}, {cpuGap(90, 195, u)}}, 1000, []stretch{{110, 190, u}}},
		{"one after the other", [3][]jitterprobe.Gap{{cpuGap(100, 200, u)}, {cpuGap(200, 300, u)}, {cpuGap(100, 300, u)}}, 1000, nil},
		{
			"two within one",
			[3][]jitterprobe.Gap{{cpuGap(100, 400, u)}, {cpuGap(110, 190, u), cpuGap(300, 500, u)}, {cpuGap(50, 600, u)}},
			1000, []stretch{{110, 190, u}, {300, 400, u}},
		},
		{"not before all have passed", [3][]jitterprobe.Gap{{cpuGap(100, 200, u)}, {cpuGap(110, 190, u)}, {cpuGap(90, 195, u)}}, 150, nil},
		{
			"the hypervisor stops all",
			[3][]jitterprobe.Gap{{cpuGap(100, 200, stall.HostSteal)}, {cpuGap(110, 190, u)}, {cpuGap(90, 195, u)}},
			1000, []stretch{{110, 190, stall.HostSteal}},
		},
		{
			"preempted: somebody ran",
			[3][]jitterprobe.Gap{{cpuGap(100, 200, u)}, {cpuGap(110, 190, u)}, {cpuGap(90, 195, stall.HostPreempted)}},
			1000, nil,
		},
		{
			"a stop of this process is not the machine's",
			[3][]jitterprobe.Gap{{{Interval: stall.Interval{Start: 100, End: 200, Cause: stall.HostSuspended, Scope: stall.ScopeProcess}}}, {cpuGap(110, 190, u)}, {cpuGap(90, 195, u)}},
			1000, nil,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newMachine(stall.ProbeSpin, 3)
			for i, list := range test.gaps {
				for _, g := range list {
					m.add(i, g)
				}
			}
			var got []stretch
			for _, g := range m.settle(test.watermark) {
				if g.Scope != stall.ScopeMachine || g.Origin != stall.ProbeSpin || g.CPU != -1 || g.Slack != 5 || g.Evidence.String() != "all 3 CPUs at once" {
					t.Errorf("stretch %+v", g)
				}
				got = append(got, stretch{g.Start, g.End, g.Cause})
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("stretches (-want +got):\n%s", d)
			}
			for i, list := range m.pending {
				for _, g := range list {
					if g.End <= test.watermark {
						t.Errorf("CPU %d: %+v is kept", i, g)
					}
				}
			}
		})
	}
}

// A gap that comes to light later joins those that wait for it.
func TestMachineWaitsForTheLast(t *testing.T) {
	m := newMachine(stall.ProbeSpin, 2)
	m.add(0, cpuGap(100, 200, stall.HostIRQOrSteal))
	n := len(m.settle(150))
	m.add(1, cpuGap(120, 180, stall.HostIRQOrSteal))
	if n += len(m.settle(250)); n != 1 {
		t.Errorf("stretches: got %d, want 1", n)
	}
	for i := range 3 * maxPending {
		m.add(0, cpuGap(stall.Instant(1000+i), stall.Instant(1001+i), stall.HostIRQOrSteal))
	}
	if len(m.pending[0]) > maxPending || m.lost == 0 {
		t.Errorf("waiting: %d, lost %d", len(m.pending[0]), m.lost)
	}
}
