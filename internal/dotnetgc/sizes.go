package dotnetgc

import (
	"strconv"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

// whole reports whether the histories of all heaps are there.
func (c *collection) whole() bool { return c.global != nil && c.heaps == c.global.heaps }

// sizes fills in what the heaps and the sums say. Promoted is the sum that
// GC.GetGCMemoryInfo gives as PromotedBytes. In a background collection it
// holds what the last ephemeral one promoted of gen0 and gen1: only the
// generations have what is this collection's alone.
func (c *collection) sizes(r *gc.Collection) {
	if c.whole() {
		var before, freeBefore, freeAfter, after uint64
		for g := range c.parts {
			d := &c.sum[g]
			before += d.sizeBefore
			freeBefore += d.freeBefore
			freeAfter += d.freeAfter
			after += d.sizeAfter
		}
		r.HeapBefore, r.HeapAfter = bytes(before), bytes(after)
		r.FragmentationBefore, r.FragmentationAfter = bytes(freeBefore), bytes(freeAfter)
	}
	if c.stats != nil {
		var after, promoted uint64
		for g := range c.stats.generations {
			after += c.stats.size[g]
			promoted += c.stats.promoted[g]
		}
		r.HeapAfter, r.Promoted = bytes(after), bytes(promoted)
	}
	for g := range gc.NumGenerations {
		if generation, known := c.part(g); known {
			r.Generations = append(r.Generations, generation)
		}
	}
}

// part returns what is known of one generation, and whether anything is.
func (c *collection) part(g gc.GenerationID) (gc.Generation, bool) {
	p := gc.Generation{ID: g}
	heaps := c.whole() && int(g) < c.parts
	sums := c.stats != nil && int(g) < c.stats.generations
	d := &c.sum[g]
	if heaps {
		p.SizeBefore, p.SizeAfter = bytes(d.sizeBefore), bytes(d.sizeAfter)
		p.FragmentationBefore, p.FragmentationAfter = bytes(d.freeBefore), bytes(d.freeAfter)
		p.Budget = bytes(d.budget)
	} else if sums {
		p.SizeAfter = bytes(c.stats.size[g])
	}
	if c.collected(g) {
		if heaps {
			p.Survived = bytes(d.survived)
		}
		// .NET 10 leaves that of the pinned objects zero, whatever survived.
		if sums && (g != gc.POH || c.stats.promoted[g] > 0 || heaps && d.survived == 0) {
			p.Promoted = bytes(c.stats.promoted[g])
		}
	}
	return p, heaps || sums
}

// collected reports whether c collected a generation: those up to its own, LOH
// and POH with gen2, and a background one none of the young.
func (c *collection) collected(g gc.GenerationID) bool {
	oldest, known := c.generation().Get()
	switch {
	case !known:
		return false
	case g > gc.Gen2:
		return oldest == int(gc.Gen2)
	}
	return int(g) <= oldest && (g == gc.Gen2 || c.kind() != gc.Background)
}

func bytes(n uint64) gc.Maybe[gc.Bytes] { return gc.Known(gc.Bytes(n)) }

// heapAfter is what the objects took after the collection that was handed out
// last.
type heapAfter struct {
	known bool
	end   stall.Instant
	live  [gc.NumGenerations]uint64
}

// allocatedIn are the generations that the program allocates in.
var allocatedIn = [...]gc.GenerationID{gc.Gen0, gc.LOH, gc.POH}

// allocated sets what the program allocated since the collection before: the
// objects before this one less those after that one, by which free space that
// was used again counts. It is not known if another collection was missed or
// ran within this one, which has counted it then. What is allocated while a
// background collection runs is not in it.
func (m *Model) allocated(c *collection, r *gc.Collection) {
	if !c.whole() || c.end == 0 {
		m.before = heapAfter{}
		return
	}
	before := m.before
	if c.number == 1 {
		before = heapAfter{known: true} // all that the process has allocated
	}
	if before.known && !c.overlapped && before.end <= c.start {
		sum := uint64(0)
		for _, g := range allocatedIn {
			if live := c.sum[g].sizeBefore - min(c.sum[g].sizeBefore, c.sum[g].freeBefore); live > before.live[g] {
				sum += live - before.live[g]
			}
		}
		r.Allocated = bytes(sum)
	}
	m.before = heapAfter{known: true, end: c.end}
	for g := range c.parts {
		m.before.live[g] = c.sum[g].sizeAfter - min(c.sum[g].sizeAfter, c.sum[g].freeAfter)
	}
}
