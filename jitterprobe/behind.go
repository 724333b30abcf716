package jitterprobe

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// coldFor is for how long a loop of a few cache lines is slow after its thread has
// its CPU back: 97 in 100 were below 2 us.
const coldFor = 5 * time.Microsecond

// behind is what the gaps before were.
type behind struct {
	end   stall.Instant // of the last one
	back  stall.Instant // of the last one that was not for cold caches; of that, too:
	cause stall.Cause
	scope stall.Scope
	owner stall.Owner
}

// settle gives a gap in which the kernel did nothing to what made the one before, if
// that one took the thread off its CPU and there was not one look in between: then
// the caches are cold, and no hypervisor need have had a part in it. A gap for cold
// caches does not make them cold: those behind it count from the same end.
func (b *behind) settle(gaps []Gap) {
	for i := range gaps {
		g := &gaps[i]
		if !b.explains(g) {
			*b = behind{g.End, g.End, g.Cause, g.Scope, g.Owner}
			continue
		}
		g.call(b.cause, Evidence{Witness: ColdCache, Time: g.Duration()})
		g.Scope, g.Owner = b.scope, b.owner
		b.end = g.End
	}
}

// explains reports whether g is for cold caches.
func (b *behind) explains(g *Gap) bool {
	w := g.Evidence.Witness
	return g.Start == b.end && b.leavesCold() && (w == Silence || w == Remainder) && g.End.Sub(b.back) <= coldFor
}

// leavesCold reports whether the gap took the thread off its CPU.
func (b *behind) leavesCold() bool {
	return b.cause == stall.HostPreempted || b.cause == stall.HostThrottled || b.cause == stall.HostSuspended
}
