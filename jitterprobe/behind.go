package jitterprobe

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// coldFor is for how long a loop of a few cache lines is slow when its thread has
// its CPU back: 97 in 100 were below 2 us.
const coldFor = 5 * time.Microsecond

// behind is what the last gap was.
type behind struct {
	end   stall.Instant
	cause stall.Cause
	scope stall.Scope
	owner stall.Owner
}

// settle gives a gap in which the kernel did nothing to what made the one before, if
// that one took the thread off its CPU and there was not one look in between: then
// the caches are cold, and no hypervisor need have had a part in it.
func (b *behind) settle(gaps []Gap) {
	for i := range gaps {
		g := &gaps[i]
		w := g.Evidence.Witness
		if g.Start == b.end && b.leavesCold() && (w == Silence || w == Remainder) && g.Duration() <= coldFor {
			g.call(b.cause, Evidence{Witness: ColdCache, Time: g.Duration()})
			g.Scope, g.Owner = b.scope, b.owner
		}
		*b = behind{g.End, g.Cause, g.Scope, g.Owner}
	}
}

// leavesCold reports whether the gap took the thread off its CPU.
func (b *behind) leavesCold() bool {
	return b.cause == stall.HostPreempted || b.cause == stall.HostThrottled || b.cause == stall.HostSuspended
}
