package gc

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Bytes is a size.
type Bytes uint64

// Collection is one garbage collection.
//
// In JSON times are nanoseconds and sizes bytes, and what is not known is absent.
type Collection struct {
	// Index counts the collections of the process; the first is 1. Zero means
	// before the first.
	Index uint64 `json:"index,omitempty"`
	Kind  Kind   `json:"kind"`
	// Generation is the oldest generation that was collected (.NET).
	Generation Maybe[int] `json:"generation,omitzero"`
	Trigger    Trigger    `json:"trigger,omitzero"`
	// TriggerSite is the function that triggered the collection (exact).
	TriggerSite string               `json:"trigger_site,omitempty"`
	Start       Maybe[stall.Instant] `json:"start,omitzero"`
	End         Maybe[stall.Instant] `json:"end,omitzero"`
	// Pauses holds every stop-the-world of the collection, in order. There can
	// be any number: mark termination may be retried.
	Pauses              []Pause      `json:"pauses"`
	Promoted            Maybe[Bytes] `json:"promoted,omitzero"`    // bytes that survived; in Go the bytes marked live
	HeapBefore          Maybe[Bytes] `json:"heap_before,omitzero"` // heap when the collection began
	HeapAfter           Maybe[Bytes] `json:"heap_after,omitzero"`  // heap when it ended
	FragmentationBefore Maybe[Bytes] `json:"fragmentation_before,omitzero"`
	FragmentationAfter  Maybe[Bytes] `json:"fragmentation_after,omitzero"`
	Goal                Maybe[Bytes] `json:"goal,omitzero"` // heap size at which the collection was to be over
	// Cycles is the number of collections that this record stands for, 1 in
	// general. It is k when k cycles fell between two notices: what the runtime
	// keeps per cycle is in k records then, and the rest is in one record with
	// Cycles k, never spread over them.
	Cycles   int            `json:"cycles"`
	Fidelity stall.Fidelity `json:"fidelity,omitempty"` // absent in JSON if it is Cycle: of the pauses only the sum is exact
	CPU      CPU            `json:"cpu,omitzero"`
	// Estimated names the fields whose value is an estimate.
	Estimated  Fields     `json:"estimated,omitempty"`
	HostDuring HostDuring `json:"host_during,omitzero"`
	// UsualPause is what collections of the kind pause for the same work, and
	// SlowedBy what the machine made the pauses longer by.
	UsualPause  Maybe[time.Duration] `json:"usual_pause,omitzero"`
	SlowedBy    SlowedBy             `json:"slowed_by,omitempty"`
	Compacting  Maybe[bool]          `json:"compacting,omitzero"`  // it moved objects (.NET)
	Concurrent  Maybe[bool]          `json:"concurrent,omitzero"`  // it ran beside the program, whatever was announced (.NET)
	Pinned      Maybe[uint64]        `json:"pinned,omitzero"`      // objects that could not be moved (.NET)
	Finalizable Maybe[uint64]        `json:"finalizable,omitzero"` // objects that became ready for finalization (.NET)
	MemoryLoad  Maybe[float64]       `json:"memory_load,omitzero"` // physical memory in use on the machine, 0 to 1 (.NET)
	// PauseUtilization is the share of wall time paused since the process
	// began, 0 to 1; since UtilizationSince where that is known.
	PauseUtilization Maybe[float64] `json:"pause_utilization,omitzero"`
	// UtilizationSince is when the share begins to count, if that is later
	// than the process: nobody saw the pauses before.
	UtilizationSince Maybe[stall.Instant] `json:"pause_utilization_since,omitzero"`
	// Allocated is what the program allocated since the collection before
	// (.NET).
	Allocated Maybe[Bytes] `json:"allocated,omitzero"`
	// Generations holds what is known of each, in the order of GenerationID
	// (.NET).
	Generations []Generation `json:"generations,omitempty"`
	// Incomplete says why the record lacks a part; empty if it is whole.
	Incomplete string       `json:"incomplete,omitempty"`
	Origin     stall.Origin `json:"-"`
}

// Pause is one stop-the-world.
type Pause struct {
	Start stall.Instant `json:"start"`
	End   stall.Instant `json:"end"`
	// EndMax is the upper bound of End; the same as End where it is exact.
	EndMax stall.Instant `json:"end_max"`
	// Slack bounds the error of the pause's place in time.
	Slack time.Duration `json:"slack,omitempty"`
	// Suspend is the time it took to stop the threads, part of the pause.
	Suspend    Maybe[time.Duration] `json:"suspend,omitzero"`
	Phase      Phase                `json:"phase"`
	HostDuring HostDuring           `json:"host_during,omitzero"`
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

// Extent returns the time of c and its pauses, with their slack: in .NET the first pause
// begins before the collection and the last one ends after it. It is empty if no start
// is known.
func (c *Collection) Extent() stall.Span {
	s := stall.Span{Start: c.Start.Or(0), End: c.End.Or(0)}
	for i := range c.Pauses {
		p := &c.Pauses[i]
		if first := p.Start.Add(-p.Slack); s.Start == 0 || first < s.Start {
			s.Start = first
		}
		s.End = max(s.End, p.End)
	}
	if s.Start == 0 {
		return stall.Span{}
	}
	return s
}

// CPU is the CPU time that the collector used, by the classes of
// runtime/metrics (/cpu/classes/gc/...).
type CPU struct {
	Assist    Maybe[time.Duration] `json:"assist,omitzero"`
	Dedicated Maybe[time.Duration] `json:"dedicated,omitzero"`
	Idle      Maybe[time.Duration] `json:"idle,omitzero"`
	Pause     Maybe[time.Duration] `json:"pause,omitzero"`
	Total     Maybe[time.Duration] `json:"total,omitzero"`
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

// MarshalJSON encodes s as the list of its names.
func (s Fields) MarshalJSON() ([]byte, error) { return json.Marshal(s.Names()) }

// UnmarshalJSON decodes a list of names.
func (s *Fields) UnmarshalJSON(b []byte) error {
	var names []string
	if err := json.Unmarshal(b, &names); err != nil {
		return err
	}
	*s = 0
	for _, name := range names {
		i := slices.Index(fieldNames[:], name)
		if i < 0 {
			return fmt.Errorf("parse estimated field %q: not known", name)
		}
		*s |= 1 << i
	}
	return nil
}

// Clone returns a copy of c that shares no memory with it.
func (c *Collection) Clone() Collection {
	d := *c
	d.Pauses = slices.Clone(c.Pauses)
	d.Generations = slices.Clone(c.Generations)
	return d
}

// GenerationID names one part of a generational heap. The names are those of
// the OpenTelemetry registry (dotnet.gc.heap.generation).
type GenerationID uint8

const (
	Gen0 GenerationID = iota
	Gen1
	Gen2
	LOH // large objects
	POH // pinned objects (.NET 5 and later)
	NumGenerations
)

var generationNames = [NumGenerations]string{"gen0", "gen1", "gen2", "loh", "poh"}

// String returns the name of g in the telemetry contract.
func (g GenerationID) String() string {
	if g < NumGenerations {
		return generationNames[g]
	}
	return fmt.Sprintf("generation(%d)", uint8(g))
}

// MarshalText encodes g by its name.
func (g GenerationID) MarshalText() ([]byte, error) { return []byte(g.String()), nil }

// UnmarshalText decodes a name.
func (g *GenerationID) UnmarshalText(name []byte) error {
	return parseName(g, "generation", generationNames[:], name)
}

// Generation is one generation in one collection, all heaps of the process
// together.
type Generation struct {
	ID GenerationID `json:"gen"`
	// SizeBefore and SizeAfter hold objects and free space alike.
	SizeBefore Maybe[Bytes] `json:"size_before,omitzero"`
	SizeAfter  Maybe[Bytes] `json:"size_after,omitzero"`
	// FragmentationBefore and FragmentationAfter are the free space.
	FragmentationBefore Maybe[Bytes] `json:"fragmentation_before,omitzero"`
	FragmentationAfter  Maybe[Bytes] `json:"fragmentation_after,omitzero"`
	// Promoted is what survived, as the runtime's own sum says.
	Promoted Maybe[Bytes] `json:"promoted,omitzero"`
	// Survived is what survived, as the heaps' own records say, pinned or not.
	// Zero for a generation that was not collected.
	Survived Maybe[Bytes] `json:"survived,omitzero"`
	// Budget is what may be allocated in the generation before the next
	// collection of it.
	Budget Maybe[Bytes] `json:"budget,omitzero"`
}

// HostDuring says what the machine did to the process in the time of a
// collection or of a pause.
//
// MajorFaults, RunDelay, Throttled and Stolen are differences of counters that
// were read before and after, Over apart: what they count may have been outside,
// so they are "at most". CPUWait and PageWait are known to be inside, and share no
// time. Where who tells of the collection follows the scheduler itself, as
// otelgc-sidecar does, RunDelay is of that time alone, too; package otelgc only
// counts it.
type HostDuring struct {
	// MajorFaults are page faults that were served from disk.
	MajorFaults Maybe[uint64] `json:"major_faults,omitzero"`
	// RunDelay is how long threads were ready without a CPU, summed over them
	// (run_delay of schedstat; Documentation/scheduler/sched-stats.rst).
	RunDelay Maybe[time.Duration] `json:"run_delay,omitzero"`
	// Throttled is throttled_time of the process's cgroup and its ancestors,
	// summed over CPUs.
	Throttled Maybe[time.Duration] `json:"throttled,omitzero"`
	// Stolen is what the hypervisor admits to have taken of all CPUs of the
	// machine, in steps of 10 ms (proc_stat(5)).
	Stolen Maybe[time.Duration] `json:"stolen,omitzero"`
	// Over is the time between the readings of the counters.
	Over Maybe[time.Duration] `json:"over,omitzero"`
	// CPUWait is how long a thread of the process was ready to run and none ran:
	// it is inside for certain, and there may have been more. Zero is known only
	// where all the time was watched.
	CPUWait Maybe[time.Duration] `json:"cpu_wait,omitzero"`
	// PageWait is how long a thread waited for the disk, while pages came from
	// there, and no other thread ran or was ready; zero as for CPUWait.
	PageWait Maybe[time.Duration] `json:"page_wait,omitzero"`
}
