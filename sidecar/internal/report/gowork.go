package report

import (
	"fmt"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// callerOf names who stopped the world, and through what.
func callerOf(s *gotrace.Stop) string {
	if s.Entry != "" && s.Entry != s.Caller {
		return s.Entry + " < " + s.Caller
	}
	return s.Caller
}

// learnWorkers adds up the workers that began before end, and returns the
// others. The runtime's own classes are made of the same: the wall time that
// workers held a P, fractional ones counted as dedicated.
func (b *goBuilder) learnWorkers(workers []gotrace.Worker, end stall.Instant) []gotrace.Worker {
	n := 0
	for ; n < len(workers) && workers[n].Start < end; n++ {
		class := &b.cpu.Dedicated
		if workers[n].Kind == gotrace.Idle {
			class = &b.cpu.Idle
		}
		*class = gc.Known(class.Or(0) + workers[n].Duration())
	}
	return workers[n:]
}

func (b *goBuilder) learnRanges(ranges []gotrace.Range) {
	for i := range ranges {
		r := &ranges[i]
		if r.Kind == gotrace.Sweep {
			b.Work.Sweep.add(r.Duration(), !r.Cut)
			continue
		}
		whole := b.parts[r.Goroutine] + r.Duration()
		if r.Cut {
			b.parts[r.Goroutine] = whole
			continue
		}
		delete(b.parts, r.Goroutine)
		b.Work.Assist.add(whole, true)
	}
}

// learnLost names what a generation lacks.
func (b *goBuilder) learnLost(g *gotrace.Generation) {
	l := &g.Lost
	if l.Generations > 0 {
		b.addHole(Hole{b.End, g.Start, textfmt.Many(l.Generations, "generation") + " missing"})
	}
	for _, lost := range []struct {
		n    uint64
		what string
	}{
		{l.Stops, "stops"}, {l.Handoffs, "restarts within stops"}, {l.Cycles, "ends of collections"}, {l.Ranges, "assists and sweeps"},
		{l.Workers, "turns of GC workers"}, {l.Samples, "heap sizes"},
		{l.Strings, "reasons"}, {l.Stacks, "callers"},
	} {
		if lost.n > 0 {
			b.addHole(Hole{g.Start, g.End, fmt.Sprintf("%s: %s lost over a limit of the decoder", lost.what, textfmt.Count(lost.n))})
		}
	}
}
