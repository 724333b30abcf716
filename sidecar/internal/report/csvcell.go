package report

import (
	"strconv"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// numberOf names a collection by the process's count, or else the file's.
func numberOf(index uint64, i int) string {
	if index > 0 {
		return strconv.FormatUint(index, 10)
	}
	return strconv.Itoa(i + 1)
}

// genName writes the generation as GCStats does: 0N, 1F, 2B, by what was
// announced, with I or i if the program asked for it.
func genName(c *Collection) string {
	g, ok := c.Generation.Get()
	if !ok {
		return ""
	}
	name := strconv.Itoa(g)
	if len(c.Announced) > 0 {
		name += c.Announced[:1]
	}
	switch c.Trigger {
	case "Induced":
		name += "I"
	case "InducedNotForced":
		name += "i"
	}
	return name
}

func genCells(c *gc.Collection, id gc.GenerationID) []string {
	g := part(c, id)
	if g == nil {
		return []string{"", "", ""}
	}
	return []string{
		megabytes(g.SizeAfter), decimal(survivalIn(g), 100, 0), decimal(ratio(g.FragmentationAfter, g.SizeAfter), 100, 2),
	}
}

func suspends(c *gc.Collection) string {
	var sum gc.Maybe[time.Duration]
	for _, p := range c.Pauses {
		if d, ok := p.Suspend.Get(); ok {
			sum = gc.Known(sum.Or(0) + d)
		}
	}
	if d, ok := sum.Get(); ok {
		return milliseconds(d)
	}
	return ""
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/1e6, 'f', 6, 64)
}

func megabytes(b gc.Maybe[gc.Bytes]) string { return decimal(number(b), 1e-6, 3) }

func rate(b gc.Maybe[gc.Bytes], d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return decimal(number(b), 1e-6/d.Seconds(), 2)
}

func decimal(f gc.Maybe[float64], scale float64, places int) string {
	if v, ok := f.Get(); ok {
		return strconv.FormatFloat(v*scale, 'f', places, 64)
	}
	return ""
}

func whole(n gc.Maybe[uint64]) string {
	if v, ok := n.Get(); ok {
		return strconv.FormatUint(v, 10)
	}
	return ""
}
