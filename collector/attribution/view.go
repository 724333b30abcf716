package attribution

import (
	"github.com/otelgc/otelgc/stall"
)

// view is what is known of where a span ran. It is good for a join without the
// lock: what it points to is read under locks of its own, or never changed.
type view struct {
	boot    string
	wall    *wall // nil on a host that nobody told of
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
func (f *found) view() (v view) {
	if f.host == nil || f.host.wall.n == 0 {
		return v
	}
	v.boot, v.wall, v.probes = bootOf(f.host.boot), f.host.wall, f.host.probes
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
// machine, and those of the process.
func (f *found) passed(t stall.Instant) bool {
	h := f.host
	if h.now < t {
		return false
	}
	late := func(l *sourceLog) bool {
		return l != nil && l.heard+silentAfter >= h.now && l.Watermark() < t
	}
	for _, p := range h.probes {
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

// settled reports whether nothing more is to come about spans that end then,
// Unix ns.
func (f *found) settled(end int64) bool {
	if f.host == nil || f.process == nil && f.target == nil && !f.over {
		return false // a status may be on its way
	}
	t, slack, ok := f.host.wall.instant(end)
	return ok && f.passed(t.Add(slack))
}
