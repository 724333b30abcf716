package dotnetgc

import "github.com/otelgc/otelgc/stall/gc"

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
