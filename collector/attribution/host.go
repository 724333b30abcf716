package attribution

import (
	"github.com/otelgc/otelgc/stall"
)

// host is what is known of one boot of one machine.
type host struct {
	boot      string
	name      string // host.id or host.name
	wall      wall
	probes    logs
	processes map[int64]*process
	now       stall.Instant // the latest that any source told
	heard     uint64        // order of the last event: who was silent longest
}

func newHost(boot string) *host {
	return &host{boot: boot, processes: make(map[int64]*process)}
}

// known returns a process that was heard. A pid that was used again is another
// process.
func (h *host) known(id pid) *process {
	p := h.processes[id.number]
	if p == nil || id.created != "" && p.id.created != "" && p.id.created != id.created {
		return nil
	}
	return p
}

// silentAfter is how long a source may say nothing before nobody waits for it:
// its part of a span is unseen then, as in process.
const silentAfter = stall.Instant(3e9)

// passed reports whether every source that is alive has passed t: those of the
// machine, and those of p if it is known.
func (h *host) passed(p *process, t stall.Instant) bool {
	late := func(l *sourceLog) bool {
		return l != nil && l.told+silentAfter >= h.now && l.Watermark() < t
	}
	for _, l := range h.probes {
		if late(l) {
			return false
		}
	}
	if p == nil {
		return h.now >= t
	}
	for _, l := range p.runtime {
		if late(l) {
			return false
		}
	}
	return !late(p.target) && h.now >= t
}

func isProbe(s stall.Source) bool {
	return s == stall.ProbeSpin || s == stall.ProbeRuntime || s == stall.ProbePeriodic
}
