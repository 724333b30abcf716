package stall

import "slices"

// addHost adds what probes saw of the machine.
func (j *Joiner) addHost(list []Interval, extent Span, place *Place) {
	j.scratch = j.host.overlaps(j.scratch[:0], extent)
	for _, i := range j.scratch {
		v := &list[i]
		switch {
		case !v.Cause.IsHost():
		case !v.Applies(place):
			j.sweep.add(coincident+fact(v.Cause-HostThrottled), v.Span())
		case v.Scope == ScopeTarget:
			j.addClaim(v, target+fact(v.Cause-HostThrottled), doubtfulHost)
		default:
			j.addClaim(v, fact(v.Cause), doubtfulHost)
		}
	}
}

// Applies reports whether what v says of the machine holds at p, which may be
// nil. A gap of one CPU never does, as the CPU of a goroutine is not known; nor
// does one of the process that saw it, as a probe in the same process stops
// with it.
func (v *Interval) Applies(p *Place) bool {
	switch v.Scope {
	case ScopeMachine:
		return true
	case ScopeCgroup:
		return p != nil && v.Owner.Cgroup != 0 && slices.Contains(p.Cgroups, v.Owner.Cgroup)
	case ScopeTarget:
		return p != nil && v.Owner.PID != 0 && v.Owner.PID == p.PID && v.Owner.Created == p.Created
	}
	return false
}
