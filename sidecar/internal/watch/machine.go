package watch

import (
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/stall"
)

// maxPending bounds the gaps of one CPU that wait for the other CPUs.
const maxPending = 1 << 12

// machine finds the stretches in which every CPU stood still: what a gap of each
// has in common. Only such a stretch holds for a thread wherever it runs.
type machine struct {
	source  stall.Origin
	pending [][]jitterprobe.Gap // by probe, in order of time; they do not overlap
	lost    uint64              // gaps for which there was no room
}

func newMachine(source stall.Origin, probes int) machine {
	return machine{source: source, pending: make([][]jitterprobe.Gap, probes)}
}

// add takes a gap of probe i. Only gaps in which no thread had the CPU count: where the
// probe was preempted on each CPU, others ran, and maybe the very service that would be
// charged for it.
func (m *machine) add(i int, g jitterprobe.Gap) {
	if g.Scope != stall.ScopeCPU || g.Cause != stall.HostSteal && g.Cause != stall.HostIRQOrSteal {
		return
	}
	if len(m.pending[i]) == maxPending {
		m.pending[i] = append(m.pending[i][:0], m.pending[i][maxPending/2:]...)
		m.lost += maxPending / 2
	}
	m.pending[i] = append(m.pending[i], g)
}

// settle returns the stretches that ended before the watermark, which all probes have
// passed.
func (m *machine) settle(watermark stall.Instant) (all []jitterprobe.Gap) {
	next := make([]int, len(m.pending)) // first gap of each that matters
	for {
		first, ended := m.earliest(next)
		if first < 0 || ended > watermark {
			break
		}
		if g, ok := m.common(next); ok {
			all = append(all, g)
		}
		next[first]++
	}
	for i, n := range next {
		m.pending[i] = append(m.pending[i][:0], m.pending[i][n:]...)
	}
	return all
}

// earliest returns the probe whose gap ends first, -1 if there is no gap.
func (m *machine) earliest(next []int) (probe int, end stall.Instant) {
	probe = -1
	for i, list := range m.pending {
		if next[i] < len(list) && (probe < 0 || list[next[i]].End < end) {
			probe, end = i, list[next[i]].End
		}
	}
	return probe, end
}

// common returns what the next gaps of all probes have in common.
func (m *machine) common(next []int) (jitterprobe.Gap, bool) {
	both := jitterprobe.Gap{Interval: stall.Interval{Origin: m.source, Scope: stall.ScopeMachine, CPU: -1}}
	for i, list := range m.pending {
		if next[i] == len(list) {
			return both, false
		}
		g := &list[next[i]]
		if i == 0 {
			both.Start, both.End, both.Cause = g.Start, g.End, g.Cause
		}
		both.Start, both.End, both.Slack = max(both.Start, g.Start), min(both.End, g.End), max(both.Slack, g.Slack)
		if g.Cause == stall.HostSteal {
			// The hypervisor is proved for one CPU, and possible for the rest.
			both.Cause = stall.HostSteal
		}
	}
	both.Evidence = jitterprobe.Evidence{Witness: jitterprobe.EveryCPU, Time: both.Duration(), Count: int32(len(m.pending))}
	return both, both.End > both.Start
}
