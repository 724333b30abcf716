package attribution

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// keptProbes is how many probes of one kind are known of a host: one that began
// anew, and those of pods with one of their own.
const keptProbes = 4

// probe is what one probe of a machine said. Several senders may run one of a
// kind, and what one has seen says nothing of what another has sent.
type probe struct {
	id identity // of its sender
	*sourceLog
	clocks *clocks
}

func isProbe(s stall.Origin) bool {
	return s == stall.ProbeSpin || s == stall.ProbeRuntime || s == stall.ProbePeriodic
}

// probe returns the log of the probe that an event is of, nil if there is no
// room for it.
func (r *registry) probe(h *host, e *event) (*sourceLog, *clocks) {
	for _, p := range h.probes {
		if p.Origin() == e.source && p.id == e.of {
			p.clocks.heard = r.clock
			return p.sourceLog, p.clocks
		}
	}
	if !r.room(probeBytes+e.of.weight()+logBytes, h, nil) {
		return nil, nil
	}
	p := probe{e.of, newSourceLog(e.source, &r.memory), &clocks{heard: r.clock}}
	r.unname(h)
	h.probes = append(r.spare(h, e.source), p)
	r.name(h)
	return p.sourceLog, p.clocks
}

// weight returns what a probe takes.
func (p *probe) weight() int { return probeBytes + p.id.weight() + p.bytes }

// spare returns the probes of a host but for those of a kind that have been
// silent for so long that no span can want them, and if there are too many the
// one that was silent longest.
func (r *registry) spare(h *host, kind stall.Origin) []probe {
	rest := make([]probe, 0, len(h.probes)+1) // who joins may hold the old ones
	oldest, n := -1, 0
	for _, p := range h.probes {
		if p.Origin() == kind {
			if r.clock-p.clocks.heard > time.Duration(silentAfter)+r.config.Wait {
				r.memory.forget(p.weight())
				continue
			}
			if n++; oldest < 0 || p.clocks.heard < rest[oldest].clocks.heard {
				oldest = len(rest)
			}
		}
		rest = append(rest, p)
	}
	if n >= keptProbes {
		r.lost.processesForgotten++ // it may well be alive
		r.memory.forget(rest[oldest].weight())
		rest = slices.Delete(rest, oldest, oldest+1)
	}
	return rest
}

// forgetProbe forgets what one probe of a host said.
func (r *registry) forgetProbe(h *host, l *sourceLog) {
	r.unname(h)
	rest := make([]probe, 0, len(h.probes)) // who joins may hold the old ones
	for _, p := range h.probes {
		if p.sourceLog != l {
			rest = append(rest, p)
			continue
		}
		r.memory.forget(p.weight())
	}
	h.probes = rest
	r.name(h)
}

// name files a host under what its probes call it.
func (r *registry) name(h *host) {
	for _, name := range h.names() {
		r.named[name] = append(r.named[name], h)
		r.changes.count(nameLink(name))
	}
	r.version++
}

func (r *registry) unname(h *host) {
	for _, name := range h.names() {
		r.named[name] = without(r.named[name], h)
		if len(r.named[name]) == 0 {
			delete(r.named, name)
		}
		r.changes.count(nameLink(name))
	}
}

// names returns what the probes call the host, each name once.
func (h *host) names() (all []string) {
	for _, p := range h.probes {
		for _, name := range [...]string{p.id.hostID, p.id.hostName} {
			if name != "" && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}
