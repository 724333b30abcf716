package report

import (
	"strings"

	"github.com/otelgc/otelgc/stall/gc"
)

// induced reports whether the program asked for c: runtime.GC, GC.Collect.
func induced(c *gc.Collection) bool {
	return c.Trigger == gc.TriggerForced || strings.HasPrefix(strings.ToLower(string(c.Trigger)), "induced")
}

// collected reports whether g was collected, as far as the file tells.
func collected(g *gc.Generation) bool { return !g.Survived.IsZero() || !g.Promoted.IsZero() }

// minus returns a - b, unknown if either is, or if it would be below zero.
func minus(a, b gc.Maybe[gc.Bytes]) gc.Maybe[gc.Bytes] {
	x, ok := a.Get()
	y, also := b.Get()
	if !ok || !also || y > x {
		return gc.Maybe[gc.Bytes]{}
	}
	return gc.Known(x - y)
}

// objectsBefore and objectsAfter return the size of the objects in g.
func objectsBefore(g *gc.Generation) gc.Maybe[gc.Bytes] {
	return minus(g.SizeBefore, g.FragmentationBefore)
}

func objectsAfter(g *gc.Generation) gc.Maybe[gc.Bytes] {
	return minus(g.SizeAfter, g.FragmentationAfter)
}

// survivalIn returns the share of the objects of g that survived, if it was
// collected.
func survivalIn(g *gc.Generation) gc.Maybe[float64] { return ratio(g.Survived, objectsBefore(g)) }

// survivalOf returns the share of the objects of all collected generations that
// survived c. A Go program allocates while it is collected, so there is no such
// share.
func survivalOf(c *gc.Collection) gc.Maybe[float64] {
	var objects, survived gc.Bytes
	for i := range c.Generations {
		g := &c.Generations[i]
		o, ok := objectsBefore(g).Get()
		s, also := g.Survived.Get()
		if ok && also {
			objects, survived = objects+o, survived+s
		}
	}
	if objects == 0 {
		return gc.Maybe[float64]{}
	}
	return gc.Known(float64(survived) / float64(objects))
}

// part returns generation id of c, nil if it is not known.
func part(c *gc.Collection, id gc.GenerationID) *gc.Generation {
	for i := range c.Generations {
		if c.Generations[i].ID == id {
			return &c.Generations[i]
		}
	}
	return nil
}
