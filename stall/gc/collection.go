package gc

import (
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Bytes is a size.
type Bytes uint64

// Collection is one garbage collection.
type Collection struct {
	// Index counts the collections of the process; the first is 1. Zero means
	// before the first.
	Index uint64
	// Cycles is the number of collections that this record stands for, 1 in
	// general. It is k when k cycles fell between two notices: what the runtime
	// keeps per cycle is in k records then, and the rest is in one record with
	// Cycles k, never spread over them.
	Cycles int
	Kind   Kind
	// Generation is the oldest generation that was collected (.NET).
	Generation Maybe[int]
	Trigger    Trigger
	// TriggerSite is the function that triggered the collection (exact).
	TriggerSite string

	Start, End Maybe[stall.Instant]
	// Pauses holds every stop-the-world of the collection, in order. There can
	// be any number: mark termination may be retried.
	Pauses []Pause

	Promoted            Maybe[Bytes] // bytes that survived; in Go the bytes marked live
	HeapBefore          Maybe[Bytes] // heap when the collection began
	HeapAfter           Maybe[Bytes] // heap when it ended
	FragmentationBefore Maybe[Bytes]
	FragmentationAfter  Maybe[Bytes]
	Goal                Maybe[Bytes] // heap size at which the collection was to be over
	CPU                 CPU
	// PauseUtilization is the share of wall time paused since the process
	// began, 0 to 1; since UtilizationSince where that is known.
	PauseUtilization Maybe[float64]
	// UtilizationSince is when the share begins to count, if that is later
	// than the process: nobody saw the pauses before.
	UtilizationSince Maybe[stall.Instant]

	Compacting Maybe[bool] // it moved objects (.NET)
	Concurrent Maybe[bool] // it ran beside the program, whatever was announced (.NET)
	// Generations holds what is known of each, in the order of GenerationID
	// (.NET).
	Generations []Generation
	Pinned      Maybe[uint64]  // objects that could not be moved (.NET)
	Finalizable Maybe[uint64]  // objects that became ready for finalization (.NET)
	MemoryLoad  Maybe[float64] // physical memory in use on the machine, 0 to 1 (.NET)
	// Allocated is what the program allocated since the collection before
	// (.NET).
	Allocated Maybe[Bytes]
	// Incomplete says why the record lacks a part; empty if it is whole.
	Incomplete string

	HostDuring HostDuring
	// UsualPause is what collections of the kind pause for the same work, and
	// SlowedBy what the machine made the pauses longer by: see [Usual].
	UsualPause Maybe[time.Duration]
	SlowedBy   SlowedBy
	// Estimated names the fields whose value is an estimate.
	Estimated Fields
	Origin    stall.Origin
	Fidelity  stall.Fidelity
}

// Pause is one stop-the-world.
type Pause struct {
	Start, End stall.Instant
	// EndMax is the upper bound of End; the same as End where it is exact.
	EndMax stall.Instant
	// Suspend is the time it took to stop the threads, part of the pause.
	Suspend Maybe[time.Duration]
	Phase   Phase
	// Slack bounds the error of the pause's place in time.
	Slack      time.Duration
	HostDuring HostDuring
}

// Duration returns End - Start.
func (p Pause) Duration() time.Duration { return p.End.Sub(p.Start) }

// PauseTotal returns the sum of the pauses.
func (c *Collection) PauseTotal() time.Duration {
	var sum time.Duration
	for _, p := range c.Pauses {
		sum += p.Duration()
	}
	return sum
}

// CPU is the CPU time that the collector used, by the classes of
// runtime/metrics (/cpu/classes/gc/...).
type CPU struct {
	Assist, Dedicated, Idle, Pause, Total Maybe[time.Duration]
}

// Fields is a set of fields of a Collection.
type Fields uint16

const (
	FieldStart Fields = 1 << iota
	FieldHeapBefore
	FieldPauses // the place or the length of a pause
	FieldEnd
)

// Has reports whether s holds all of f.
func (s Fields) Has(f Fields) bool { return s&f == f }

var fieldNames = [...]string{"start", "heap_before", "pauses", "end"}

// Names returns the names of the fields in the telemetry contract, nil for none.
func (s Fields) Names() []string {
	var names []string
	for i, name := range fieldNames {
		if s.Has(1 << i) {
			names = append(names, name)
		}
	}
	return names
}

// Clone returns a copy of c that shares no memory with it.
func (c *Collection) Clone() Collection {
	d := *c
	d.Pauses = slices.Clone(c.Pauses)
	d.Generations = slices.Clone(c.Generations)
	return d
}
