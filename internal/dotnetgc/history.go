package dotnetgc

import (
	"strconv"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// heapStats is GCHeapStats: u64 GenerationSize and u64 TotalPromotedSize of
// gen0, gen1, gen2 and LOH, u64 FinalizationPromotedSize, u64
// FinalizationPromotedCount, u32 PinnedObjectCount, u32 SinkBlockCount, u32
// GCHandleCount; from V1 on u16 ClrInstanceID; from V2 on u64 and u64 of POH.
// Nothing in it depends on the size of a pointer.
type heapStats struct {
	size, promoted [gc.NumGenerations]uint64
	generations    int // how many of them it has
	finalizable    uint64
	pinned         uint32
}

func readHeapStats(b []byte, version int) (s heapStats, ok bool) {
	need := [...]int{92, 94, 110}
	if len(b) < need[min(max(version, 0), 2)] {
		return s, false
	}
	s.generations = 4
	for g := range s.generations {
		s.size[g], s.promoted[g] = u64(b, 16*g), u64(b, 16*g+8)
	}
	s.finalizable, s.pinned = u64(b, 72), u32(b, 80)
	if version >= 2 {
		s.generations = 5
		s.size[gc.POH], s.promoted[gc.POH] = u64(b, 94), u64(b, 102)
	}
	return s, true
}

// The bits of GCGlobalHeapHistory.GlobalMechanisms.
const (
	mechanismConcurrent = 1 << 0
	mechanismCompaction = 1 << 1
)

// globalHistory is GCGlobalHeapHistory: u64 FinalYoungestDesired, i32 NumHeaps,
// u32 CondemnedGeneration, u32 Gen0ReductionCount, u32 Reason, u32
// GlobalMechanisms; from V1 on u16 ClrInstanceID; from V2 on u32 PauseMode, u32
// MemoryPressure in percent; and later fields.
type globalHistory struct {
	heaps      int
	condemned  gc.Maybe[int]
	mechanisms uint32
	pauseMode  gc.Maybe[PauseMode]
	memoryLoad gc.Maybe[float64]
}

func readGlobalHistory(b []byte, version int) (h globalHistory, ok bool) {
	need := [...]int{28, 30, 38}
	if len(b) < need[min(max(version, 0), 2)] {
		return h, false
	}
	heaps := u32(b, 8)
	if heaps == 0 || heaps > maxHeaps {
		return h, false
	}
	h = globalHistory{heaps: int(heaps), condemned: generationOf(u32(b, 12)), mechanisms: u32(b, 24)}
	if version >= 2 {
		h.pauseMode = pauseModeOf(u32(b, 30))
		// An ephemeral collection at the start of a background one does not
		// measure it: it says zero.
		if load := u32(b, 34); load > 0 && load <= 100 {
			h.memoryLoad = gc.Known(float64(load) / 100)
		}
	}
	return h, true
}

// generationData is gc_generation_data (runtime, src/coreclr/gc/gcrecord.h), or
// a sum of them.
type generationData struct {
	sizeBefore, freeBefore uint64
	sizeAfter, freeAfter   uint64
	survived, budget       uint64
}

func (d *generationData) add(o *generationData) {
	d.sizeBefore += o.sizeBefore
	d.freeBefore += o.freeBefore
	d.sizeAfter += o.sizeAfter
	d.freeAfter += o.freeAfter
	d.survived += o.survived
	d.budget += o.budget
}

// heapHistory is GCPerHeapHistory: u16 ClrInstanceID, 6 pointers, u32
// RunningFreeListEfficiency, u32 CondemnReasons0, u32 CondemnReasons1, u32
// CompactMechanisms, u32 ExpandMechanisms, u32 HeapIndex, a pointer
// ExtraGen0Commit, u32 Count, and Count times 10 pointers: size_before,
// free_list_before, free_obj_before, size_after, free_list_after,
// free_obj_after, in, pinned_surv, npinned_surv, new_allocation. That is V3,
// which .NET Core 3.0 and all later ones fire.
type heapHistory struct {
	heap        int
	generations int // 5 since .NET 5, 4 before
	data        [gc.NumGenerations]generationData
}

func readHeapHistory(b []byte, version, pointer int) (h heapHistory, ok bool) {
	index := 2 + 6*pointer + 5*4
	count := index + 4 + pointer
	first := count + 4
	if version < 3 || len(b) < first {
		return h, false
	}
	heap, n := u32(b, index), u32(b, count)
	if heap >= maxHeaps || n < 4 || uint64(n)*10*uint64(pointer) > uint64(len(b)-first) {
		return h, false
	}
	h.heap, h.generations = int(heap), int(min(n, uint32(gc.NumGenerations)))
	for g := range h.generations {
		var v [10]uint64
		for i := range v {
			at := first + (10*g+i)*pointer
			if pointer == 4 {
				v[i] = uint64(u32(b, at))
			} else {
				v[i] = u64(b, at)
			}
		}
		h.data[g] = generationData{v[0], v[1] + v[2], v[3], v[4] + v[5], v[7] + v[8], v[9]}
	}
	return h, true
}

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
