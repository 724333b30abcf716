package dotnet

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// timeInGC is the "% time in GC" of the last collection, as the runtime's
// counter has it:
//
//	(TB(n) - TA(n)) / (TB(n) - TB(n-1))
//
// TA is when the threads were suspended, TB just before they resume. It leaves
// out the suspension itself, and counts as GC what paging and lost CPU took
// within the pause.
type timeInGC struct {
	share gc.Maybe[float64]
	last  stall.Instant // TB(n-1), 0 if nobody saw it
}

// add takes in the next collection. One that ended before the last did is a
// background one that was told late, and changes nothing.
func (g *timeInGC) add(c *gc.Collection) {
	var inside time.Duration
	var end stall.Instant
	for _, p := range c.Pauses {
		suspend, known := p.Suspend.Get()
		if !known {
			*g = timeInGC{}
			return
		}
		inside += p.Duration() - suspend
		end = max(end, p.End)
	}
	if end <= g.last {
		return
	}
	if g.last != 0 {
		g.share = gc.Known(min(1, float64(inside)/float64(end.Sub(g.last))))
	}
	g.last = end
}

// reset forgets the last collection: there may be others before the next.
func (g *timeInGC) reset() { g.last = 0 }
