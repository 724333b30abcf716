package report

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Schema names the JSON document of a report.
const Schema = "otelgc.report/1"

// Document is the JSON document of a report. Times are nanoseconds of the clock
// that Source names, sizes bytes; what is not known is absent.
type Document struct {
	Schema      string          `json:"schema"`
	Source      DocSource       `json:"source"`
	Collections []DocCollection `json:"collections"`
	Suspensions []DocSuspension `json:"suspensions"`
	Incomplete  []DocHole       `json:"incomplete"`
	Summary     Summary         `json:"summary"`
}

// DocSource says what the file is.
type DocSource struct {
	File        string        `json:"file"`
	Bytes       int64         `json:"bytes"`
	Format      string        `json:"format"`
	Runtime     string        `json:"runtime"`
	Clock       string        `json:"clock"` // CLOCK_MONOTONIC, or file: the file's own
	Tick        uint64        `json:"clock_hz,omitempty"`
	Start       stall.Instant `json:"start"`
	End         stall.Instant `json:"end"`
	Recorded    string        `json:"recorded,omitempty"` // RFC 3339
	PID         int           `json:"pid,omitempty"`
	CPUs        int           `json:"cpus,omitempty"`
	PointerSize int           `json:"pointer_size,omitempty"`
	Command     string        `json:"command,omitempty"`
	OS          string        `json:"os,omitempty"`
	Arch        string        `json:"arch,omitempty"`
}

// DocCollection is one collection.
type DocCollection struct {
	Index       uint64                  `json:"index,omitempty"`
	Kind        gc.Kind                 `json:"kind"`
	Generation  gc.Maybe[int]           `json:"generation,omitzero"`
	Trigger     gc.Trigger              `json:"trigger,omitempty"`
	TriggerSite string                  `json:"trigger_site,omitempty"`
	Start       gc.Maybe[stall.Instant] `json:"start,omitzero"`
	End         gc.Maybe[stall.Instant] `json:"end,omitzero"`
	Pauses      []DocPause              `json:"pauses"`
	Promoted    gc.Maybe[gc.Bytes]      `json:"promoted,omitzero"`
	HeapBefore  gc.Maybe[gc.Bytes]      `json:"heap_before,omitzero"`
	HeapAfter   gc.Maybe[gc.Bytes]      `json:"heap_after,omitzero"`
	FragBefore  gc.Maybe[gc.Bytes]      `json:"fragmentation_before,omitzero"`
	FragAfter   gc.Maybe[gc.Bytes]      `json:"fragmentation_after,omitzero"`
	Goal        gc.Maybe[gc.Bytes]      `json:"goal,omitzero"`
	Cycles      int                     `json:"cycles"`
	CPU         *DocCPU                 `json:"cpu,omitempty"`
	Estimated   []string                `json:"estimated,omitempty"`
	HostDuring  *DocHost                `json:"host_during,omitempty"`
	Compacting  gc.Maybe[bool]          `json:"compacting,omitzero"`
	Concurrent  gc.Maybe[bool]          `json:"concurrent,omitzero"`
	Pinned      gc.Maybe[uint64]        `json:"pinned,omitzero"`
	Finalizable gc.Maybe[uint64]        `json:"finalizable,omitzero"`
	MemoryLoad  gc.Maybe[float64]       `json:"memory_load,omitzero"` // 0 to 1
	// Utilization is the share of the time paused since the process began, or
	// since UtilizationSince.
	Utilization      gc.Maybe[float64]       `json:"pause_utilization,omitzero"`
	UtilizationSince gc.Maybe[stall.Instant] `json:"pause_utilization_since,omitzero"`
	Allocated        gc.Maybe[gc.Bytes]      `json:"allocated,omitzero"` // since the collection before
	Generations      []DocGeneration         `json:"generations,omitempty"`
	Incomplete       string                  `json:"incomplete,omitempty"` // why the record lacks a part
}

// DocGeneration is one part of the heap in one collection.
type DocGeneration struct {
	Gen        gc.GenerationID    `json:"gen"`
	SizeBefore gc.Maybe[gc.Bytes] `json:"size_before,omitzero"`
	SizeAfter  gc.Maybe[gc.Bytes] `json:"size_after,omitzero"`
	FragBefore gc.Maybe[gc.Bytes] `json:"fragmentation_before,omitzero"`
	FragAfter  gc.Maybe[gc.Bytes] `json:"fragmentation_after,omitzero"`
	Promoted   gc.Maybe[gc.Bytes] `json:"promoted,omitzero"`
	Survived   gc.Maybe[gc.Bytes] `json:"survived,omitzero"`
	Budget     gc.Maybe[gc.Bytes] `json:"budget,omitzero"`
}

// DocPause is one stop-the-world for a collection.
type DocPause struct {
	Start   stall.Instant           `json:"start"`
	End     stall.Instant           `json:"end"`
	EndMax  stall.Instant           `json:"end_max"`
	Suspend gc.Maybe[time.Duration] `json:"suspend,omitzero"`
	Phase   gc.Phase                `json:"phase"`
}

// DocCPU is the CPU time of a collection, in ns.
type DocCPU struct {
	Assist    gc.Maybe[time.Duration] `json:"assist,omitzero"`
	Dedicated gc.Maybe[time.Duration] `json:"dedicated,omitzero"`
	Idle      gc.Maybe[time.Duration] `json:"idle,omitzero"`
	Pause     gc.Maybe[time.Duration] `json:"pause,omitzero"`
	Total     gc.Maybe[time.Duration] `json:"total,omitzero"`
}

// DocHost is what the machine did meanwhile, times in ns.
type DocHost struct {
	MajorFaults gc.Maybe[uint64]        `json:"major_faults,omitzero"`
	RunDelay    gc.Maybe[time.Duration] `json:"run_delay,omitzero"`
	Throttled   gc.Maybe[time.Duration] `json:"throttled,omitzero"`
}

// DocSuspension is one stop-the-world that was not for a collection.
type DocSuspension struct {
	Start  stall.Instant `json:"start"`
	End    stall.Instant `json:"end"`
	Reason string        `json:"reason"`
	Caller string        `json:"caller,omitempty"`
}

// DocHole is what is missing, and why.
type DocHole struct {
	Start stall.Instant `json:"start,omitempty"`
	End   stall.Instant `json:"end,omitempty"`
	Why   string        `json:"why"`
}

// Document returns the report as a JSON document.
func (r *Report) Document() Document {
	s := &r.Source
	d := Document{
		Schema: Schema,
		Source: DocSource{
			File: s.File, Bytes: s.Bytes, Format: s.Format, Runtime: s.Runtime, Clock: s.Clock, Tick: s.Tick,
			Start: r.Start, End: r.End, PID: s.PID, CPUs: s.CPUs, PointerSize: s.PointerSize,
			Command: s.Command, OS: s.OS, Arch: s.Arch,
		},
		Collections: make([]DocCollection, 0, len(r.Collections)),
		Suspensions: make([]DocSuspension, 0, len(r.Suspensions)),
		Incomplete:  make([]DocHole, 0, len(r.Incomplete)),
		Summary:     r.summary(),
	}
	if !s.Recorded.IsZero() {
		d.Source.Recorded = s.Recorded.UTC().Format(time.RFC3339Nano)
	}
	for i := range r.Collections {
		d.Collections = append(d.Collections, newDocCollection(&r.Collections[i]))
	}
	for _, v := range r.Suspensions {
		d.Suspensions = append(d.Suspensions, DocSuspension{v.Start, v.End, v.Reason, v.Caller})
	}
	for _, h := range r.Incomplete {
		d.Incomplete = append(d.Incomplete, DocHole(h))
	}
	return d
}

func newDocCollection(c *gc.Collection) DocCollection {
	d := DocCollection{
		Index: c.Index, Kind: c.Kind, Generation: c.Generation, TriggerSite: c.TriggerSite,
		Start: c.Start, End: c.End, Pauses: make([]DocPause, 0, len(c.Pauses)), Promoted: c.Promoted,
		HeapBefore: c.HeapBefore, HeapAfter: c.HeapAfter, FragBefore: c.FragmentationBefore, FragAfter: c.FragmentationAfter,
		Goal: c.Goal, Cycles: c.Cycles, Estimated: c.Estimated.Names(), Utilization: c.PauseUtilization,
		UtilizationSince: c.UtilizationSince, Compacting: c.Compacting, Concurrent: c.Concurrent, Pinned: c.Pinned,
		Finalizable: c.Finalizable, MemoryLoad: c.MemoryLoad, Allocated: c.Allocated, Incomplete: c.Incomplete,
	}
	if c.Trigger != gc.TriggerUnknown {
		d.Trigger = c.Trigger
	}
	for _, p := range c.Pauses {
		d.Pauses = append(d.Pauses, DocPause{p.Start, p.End, max(p.End, p.EndMax), p.Suspend, p.Phase})
	}
	for _, g := range c.Generations {
		d.Generations = append(d.Generations, DocGeneration{
			g.ID, g.SizeBefore, g.SizeAfter, g.FragmentationBefore, g.FragmentationAfter, g.Promoted, g.Survived, g.Budget,
		})
	}
	if c.CPU != (gc.CPU{}) {
		d.CPU = &DocCPU{c.CPU.Assist, c.CPU.Dedicated, c.CPU.Idle, c.CPU.Pause, c.CPU.Total}
	}
	if c.HostDuring != (gc.HostDuring{}) {
		d.HostDuring = &DocHost{c.HostDuring.MajorFaults, c.HostDuring.RunDelay, c.HostDuring.Throttled}
	}
	return d
}
