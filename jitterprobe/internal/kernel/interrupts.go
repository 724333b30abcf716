package kernel

import (
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/perf"
	"github.com/otelgc/otelgc/stall"
)

// point is what a tracepoint means.
type point struct {
	vector uint32 // the same for entry and exit
	name   string
	exit   bool
	single bool // an entry of which no exit can be traced
	proof  bool // it comes all the time, if interrupts are traced
	field  int  // offset of the number of the interrupt or softirq, 0 for none
	soft   bool
}

type opened struct {
	vector uint32
	at     stall.Instant
	name   string
}

// maxOpen bounds how deep interrupts nest: hard, soft and NMI need three.
const maxOpen = 16

func (c *cpu) hit(p *point, r *perf.Record) {
	if p.proof {
		c.ticked = max(c.ticked, r.At)
	}
	switch {
	case p.exit:
		c.leave(p.vector, r.At)
	case p.single:
		c.add(span{Span: stall.Span{Start: r.At, End: r.At}, kind: interrupt, name: p.name})
	default:
		c.enter(opened{p.vector, r.At, c.name(p, r.Raw)})
	}
}

// enter opens an interrupt. None interrupts itself: if its vector is open, the
// exit was not traced, and all that is known is that it was there.
func (c *cpu) enter(o opened) {
	for i, q := range c.open {
		if q.vector == o.vector || i == maxOpen-1 {
			for _, m := range c.open[i:] {
				c.add(span{Span: stall.Span{Start: m.at, End: m.at}, kind: interrupt, name: m.name})
			}
			c.open = c.open[:i]
			break
		}
	}
	c.open = append(c.open, o)
}

// leave closes the innermost entry of a vector, and what is still open in it.
// Only the outermost is a span: it contains the others.
func (c *cpu) leave(vector uint32, at stall.Instant) {
	for i := len(c.open) - 1; i >= 0; i-- {
		if o := c.open[i]; o.vector == vector {
			c.open = c.open[:i]
			if i == 0 {
				c.add(span{Span: stall.Span{Start: o.at, End: at}, kind: interrupt, name: o.name})
			}
			return
		}
	}
}

// proofAge is how old the last tick may be: a CPU that is busy with a spinning
// thread has at least one a second.
const proofAge = 4 * time.Second

// complete reports whether all interrupts in s are known. Where no tick is seen
// at all, as under a hypervisor that brings them by a way of its own, silence
// proves nothing.
func (c *cpu) complete(s stall.Span) bool {
	return c.sees(s) && c.ticked != 0 && s.End.Sub(c.ticked) <= proofAge+s.Duration()
}
