package gcjson

import (
	"fmt"
	"math"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// maxInstant keeps sums of a few instants from overflowing.
const maxInstant = math.MaxInt64 / 4

// GC returns the collection that c is the form of. The error is that of a name
// that is not known, or of times that no clock has. The source, which the form
// does not carry, is zero.
func (c *Collection) GC() (gc.Collection, error) {
	out := gc.Collection{
		Index: c.Index, Generation: c.Generation, Trigger: c.Trigger, TriggerSite: c.TriggerSite, Start: c.Start, End: c.End,
		Promoted: c.Promoted, HeapBefore: c.HeapBefore, HeapAfter: c.HeapAfter, FragmentationBefore: c.FragBefore,
		FragmentationAfter: c.FragAfter, Goal: c.Goal, Cycles: c.Cycles, PauseUtilization: c.Utilization,
		UtilizationSince: c.UtilizationSince, Compacting: c.Compacting, Concurrent: c.Concurrent, Pinned: c.Pinned,
		Finalizable: c.Finalizable, MemoryLoad: c.MemoryLoad, Allocated: c.Allocated, Incomplete: c.Incomplete,
	}
	var ok bool
	if out.Kind, ok = named(c.Kind, gc.NumKinds); !ok {
		return out, fmt.Errorf("parse collection: kind %q is not known", c.Kind)
	}
	switch c.Fidelity {
	case stall.Exact.String():
		out.Fidelity = stall.Exact
	case "", stall.Cycle.String():
	default:
		return out, fmt.Errorf("parse collection: fidelity %q is not known", c.Fidelity)
	}
	if out.Trigger == "" {
		out.Trigger = gc.TriggerUnknown
	}
	if err := span(c.Start.Or(0), max(c.Start.Or(0), c.End.Or(0))); err != nil {
		return out, err
	}
	for _, p := range c.Pauses {
		phase, ok := named(p.Phase, gc.MarkTermination+1)
		if !ok {
			return out, fmt.Errorf("parse collection: phase %q is not known", p.Phase)
		}
		if err := span(p.Start, p.End); err != nil {
			return out, err
		}
		if err := span(p.Start, p.EndMax); err != nil {
			return out, err
		}
		if p.Slack < 0 || p.Slack > maxInstant {
			return out, fmt.Errorf("parse collection: slack of %d ns", p.Slack)
		}
		out.Pauses = append(out.Pauses, gc.Pause{Start: p.Start, End: p.End, EndMax: max(p.End, p.EndMax), Slack: p.Slack, Suspend: p.Suspend, Phase: phase, HostDuring: p.Host.gc()})
	}
	for _, g := range c.Generations {
		id, ok := named(g.Gen, gc.NumGenerations)
		if !ok {
			return out, fmt.Errorf("parse collection: generation %q is not known", g.Gen)
		}
		out.Generations = append(out.Generations, gc.Generation{
			ID: id, SizeBefore: g.SizeBefore, SizeAfter: g.SizeAfter, FragmentationBefore: g.FragBefore,
			FragmentationAfter: g.FragAfter, Promoted: g.Promoted, Survived: g.Survived, Budget: g.Budget,
		})
	}
	if c.CPU != nil {
		out.CPU = gc.CPU(*c.CPU)
	}
	out.HostDuring, out.UsualPause = c.HostDuring.gc(), c.UsualPause
	if out.SlowedBy, ok = named(c.SlowedBy, gc.Paging+1); !ok && c.SlowedBy != "" {
		return out, fmt.Errorf("parse collection: slowed by %q is not known", c.SlowedBy)
	}
	return out, c.estimated(&out)
}

func (c *Collection) estimated(out *gc.Collection) error {
	for _, name := range c.Estimated {
		found := false
		for f := gc.Fields(1); f != 0 && !found; f <<= 1 {
			if names := f.Names(); len(names) == 1 && names[0] == name {
				out.Estimated |= f
				found = true
			}
		}
		if !found {
			return fmt.Errorf("parse collection: estimated field %q is not known", name)
		}
	}
	return nil
}

// named returns the value below n that has the name.
func named[T interface {
	~uint8
	String() string
}](name string, n T) (T, bool) {
	for v := range n {
		if v.String() == name {
			return v, true
		}
	}
	return 0, false
}

func span(start, end stall.Instant) error {
	if start < 0 || end < start || end > maxInstant {
		return fmt.Errorf("parse collection: from %d to %d", start, end)
	}
	return nil
}
