package dotnetgc

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// IDAllocationTick is the event that the runtime fires about once per
	// 100 kB that a thread allocates, with all that was allocated since the
	// last one. It costs an event each time, so it is not among EventIDs.
	IDAllocationTick = 10
	// LevelAllocations is the level that it needs: Verbose.
	LevelAllocations = 5

	// idGCJoin is how the collector looks, at the start of each collection,
	// whether a session wants that level: in a session that names its events and
	// not this one, AllocationTick ends there (runtime, src/coreclr/vm/gcenv.ee.cpp,
	// UpdateGCEventStatus; seen of .NET 10). Only server GC fires it.
	idGCJoin = 203
)

// AllocationEventIDs returns the ids of the events that a session has to name
// besides EventIDs for AllocationTick to come.
func AllocationEventIDs() []uint32 { return []uint32{IDAllocationTick, idGCJoin} }

// Allocation is what one thread allocated, as far as AllocationTick says. It is
// a sample: what was allocated by all threads between two events is put down to
// the thread that fired the second.
type Allocation struct {
	Thread  uint64   `json:"thread"`         // 0: threads that are too many to be kept apart
	Name    string   `json:"name,omitempty"` // of the thread: a caller may fill it in, the stream does not say it
	Samples uint64   `json:"samples"`
	SOH     gc.Bytes `json:"soh"` // small objects
	LOH     gc.Bytes `json:"loh"`
	POH     gc.Bytes `json:"poh"`
}

// Bytes returns what the thread allocated in all.
func (a *Allocation) Bytes() gc.Bytes { return a.SOH + a.LOH + a.POH }

// compare orders those that allocated the most first.
func compare(a, b Allocation) int {
	return cmp.Or(cmp.Compare(b.Bytes(), a.Bytes()), cmp.Compare(a.Thread, b.Thread))
}

// Allocations is what a program allocated, by thread.
type Allocations struct {
	Sampled bool         `json:"sampled"` // always: none of it is a count
	Samples uint64       `json:"samples"`
	Bytes   gc.Bytes     `json:"bytes"`
	Threads []Allocation `json:"threads"`          // the most first
	Others  gc.Bytes     `json:"others,omitempty"` // what threads allocated that are not in Threads
}

// SumAllocations sums up what threads allocated. It sorts list.
func SumAllocations(list []Allocation) *Allocations {
	slices.SortFunc(list, compare)
	d := &Allocations{Sampled: true, Threads: list}
	for i := range list {
		d.Samples += list[i].Samples
		d.Bytes += list[i].Bytes()
	}
	return d
}

// Allocations returns what was allocated since the last call, by thread, the
// most first. It is empty if the stream has no AllocationTick.
func (m *Model) Allocations() []Allocation {
	list := make([]Allocation, 0, len(m.allocations))
	for _, a := range m.allocations {
		list = append(list, *a)
	}
	clear(m.allocations)
	slices.SortFunc(list, compare)
	return list
}

// allocationTick reads AllocationTick: u32 AllocationAmount; from V1 on u32
// AllocationKind, u16 ClrInstanceID; from V2 on u64 AllocationAmount64; and
// later fields. It reports false if it is too short.
func (m *Model) allocationTick(b []byte, version int, thread uint64) bool {
	need := [...]int{4, 10, 18}
	if len(b) < need[min(max(version, 0), 2)] {
		return false
	}
	n, kind := gc.Bytes(u32(b, 0)), uint32(0)
	if version >= 1 {
		kind = u32(b, 4)
	}
	if version >= 2 {
		n = gc.Bytes(u64(b, 10))
	}
	a := m.allocator(thread)
	a.Samples++
	switch kind {
	case 1:
		a.LOH += n
	case 2:
		a.POH += n
	default:
		a.SOH += n
	}
	return true
}

func (m *Model) allocator(thread uint64) *Allocation {
	if m.allocations[thread] == nil && len(m.allocations) >= maxAllocators {
		thread = 0
	}
	a := m.allocations[thread]
	if a == nil {
		if m.allocations == nil {
			m.allocations = make(map[uint64]*Allocation)
		}
		a = &Allocation{Thread: thread}
		m.allocations[thread] = a
		m.mostAllocators = max(m.mostAllocators, len(m.allocations))
	}
	return a
}
