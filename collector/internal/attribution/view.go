package attribution

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// view is what is known of where a span ran. It is good for a join without the
// lock: what it points to is read under locks of its own, or never changed.
type view struct {
	boot    string
	walls   walls // none if nobody told the clock
	probes  []probe
	process *process // nil if it is not known
	runtime logs
	target  *sourceLog // what the machine did to the process
	pid     int32      // by which the target goes
	cgroups []uint64   // of the process
	inside  bool       // otelgc is in the process
}

// known reports whether anybody watches the process.
func (v *view) known() bool { return v.process != nil || v.target != nil }

// view returns what a join needs to know of f.
func (r *registry) view(f *found) (v view) {
	if v.walls = r.walls(f); !v.walls.known() {
		return v
	}
	v.boot, v.probes = bootOf(f.host.boot), f.host.probes
	if f.process != nil {
		v.process, v.runtime, v.inside = f.process, f.process.runtime, f.process.inside()
		v.cgroups = f.process.cgroups
	}
	if f.target != nil {
		v.target, v.pid = f.target.runtime[stall.TargetWatch], f.target.outer
	}
	return v
}

// passed reports whether every source that is alive has passed t: those of the
// machine, and those of the process. The span that ends at t has waited for so long, so
// it is no later than that: whoever says that it is makes nobody silent.
func (f *found) passed(t stall.Instant, waited time.Duration) bool {
	now := min(f.latest(), t+stall.Instant(waited))
	if now < t {
		return false
	}
	late := func(l *sourceLog) bool {
		return l != nil && l.heard+silentAfter >= now && l.Watermark() < t
	}
	for _, p := range f.host.probes {
		if late(p.sourceLog) {
			return false
		}
	}
	for _, p := range [...]*logs{f.process.logs(), f.target.logs()} {
		if p == nil {
			continue
		}
		for _, l := range p {
			if late(l) {
				return false
			}
		}
	}
	return true
}

func (p *process) logs() *logs {
	if p == nil {
		return nil
	}
	return &p.runtime
}

// complete reports whether nothing more is to come about the spans of h, which was
// looked for.
func (r *registry) complete(h *held) bool {
	f := &h.found
	if f.host == nil || f.process == nil && f.target == nil && !f.over {
		return false // a status may be on its way
	}
	w := r.walls(f)
	t, slack, ok := w.instant(h.end)
	return ok && f.passed(t.Add(slack), r.clock-h.since)
}
