// Package gcjson is the JSON form of one garbage collection, in the documents and
// the recordings of the sidecar: times are nanoseconds, sizes bytes, and what is
// not known is absent. What a field means is defined by package stall/gc; nothing
// is computed here.
package gcjson

import (
	"time"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Collection is one collection.
type Collection struct {
	Index       uint64                  `json:"index,omitempty"`
	Kind        string                  `json:"kind"`
	Generation  gc.Maybe[int]           `json:"generation,omitzero"`
	Trigger     gc.Trigger              `json:"trigger,omitempty"`
	TriggerSite string                  `json:"trigger_site,omitempty"`
	Start       gc.Maybe[stall.Instant] `json:"start,omitzero"`
	End         gc.Maybe[stall.Instant] `json:"end,omitzero"`
	Pauses      []Pause                 `json:"pauses"`
	Promoted    gc.Maybe[gc.Bytes]      `json:"promoted,omitzero"`
	HeapBefore  gc.Maybe[gc.Bytes]      `json:"heap_before,omitzero"`
	HeapAfter   gc.Maybe[gc.Bytes]      `json:"heap_after,omitzero"`
	FragBefore  gc.Maybe[gc.Bytes]      `json:"fragmentation_before,omitzero"`
	FragAfter   gc.Maybe[gc.Bytes]      `json:"fragmentation_after,omitzero"`
	Goal        gc.Maybe[gc.Bytes]      `json:"goal,omitzero"`
	Cycles      int                     `json:"cycles"`
	Fidelity    string                  `json:"fidelity,omitempty"` // exact, or empty: of the pauses only the sum is
	CPU         *CPU                    `json:"cpu,omitempty"`
	Estimated   []string                `json:"estimated,omitempty"`
	HostDuring  *Host                   `json:"host_during,omitempty"`
	UsualPause  gc.Maybe[time.Duration] `json:"usual_pause,omitzero"` // of the kind, for the same work
	SlowedBy    string                  `json:"slowed_by,omitempty"`  // stolen_cpu or paging
	Slowed      string                  `json:"slowed,omitempty"`     // the same in words
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
	Generations      []Generation            `json:"generations,omitempty"`
	Incomplete       string                  `json:"incomplete,omitempty"` // why the record lacks a part
}

// Generation is one part of the heap in one collection.
type Generation struct {
	Gen        string             `json:"gen"`
	SizeBefore gc.Maybe[gc.Bytes] `json:"size_before,omitzero"`
	SizeAfter  gc.Maybe[gc.Bytes] `json:"size_after,omitzero"`
	FragBefore gc.Maybe[gc.Bytes] `json:"fragmentation_before,omitzero"`
	FragAfter  gc.Maybe[gc.Bytes] `json:"fragmentation_after,omitzero"`
	Promoted   gc.Maybe[gc.Bytes] `json:"promoted,omitzero"`
	Survived   gc.Maybe[gc.Bytes] `json:"survived,omitzero"`
	Budget     gc.Maybe[gc.Bytes] `json:"budget,omitzero"`
}

// Pause is one stop-the-world for a collection.
type Pause struct {
	Start   stall.Instant           `json:"start"`
	End     stall.Instant           `json:"end"`
	EndMax  stall.Instant           `json:"end_max"`
	Slack   time.Duration           `json:"slack,omitempty"` // bound of the error of its place
	Suspend gc.Maybe[time.Duration] `json:"suspend,omitzero"`
	Phase   string                  `json:"phase"`
	Host    *Host                   `json:"host_during,omitempty"`
}

// CPU is the CPU time of a collection, in ns.
type CPU struct {
	Assist    gc.Maybe[time.Duration] `json:"assist,omitzero"`
	Dedicated gc.Maybe[time.Duration] `json:"dedicated,omitzero"`
	Idle      gc.Maybe[time.Duration] `json:"idle,omitzero"`
	Pause     gc.Maybe[time.Duration] `json:"pause,omitzero"`
	Total     gc.Maybe[time.Duration] `json:"total,omitzero"`
}

// Host is what the machine did meanwhile, as in [gc.HostDuring], times in ns.
type Host struct {
	MajorFaults gc.Maybe[uint64]        `json:"major_faults,omitzero"`
	RunDelay    gc.Maybe[time.Duration] `json:"run_delay,omitzero"`
	Throttled   gc.Maybe[time.Duration] `json:"throttled,omitzero"`
	Stolen      gc.Maybe[time.Duration] `json:"stolen,omitzero"`
	Over        gc.Maybe[time.Duration] `json:"over,omitzero"`
	CPUWait     gc.Maybe[time.Duration] `json:"cpu_wait,omitzero"`
	PageWait    gc.Maybe[time.Duration] `json:"page_wait,omitzero"`
}

// newHost returns the form of h, nil where nothing is known.
func newHost(h gc.HostDuring) *Host {
	if h == (gc.HostDuring{}) {
		return nil
	}
	form := Host(h)
	return &form
}

func (h *Host) gc() gc.HostDuring {
	if h == nil {
		return gc.HostDuring{}
	}
	return gc.HostDuring(*h)
}

// New returns the form of c.
func New(c *gc.Collection) Collection {
	d := Collection{
		Index: c.Index, Kind: c.Kind.String(), Generation: c.Generation, TriggerSite: c.TriggerSite,
		Start: c.Start, End: c.End, Pauses: make([]Pause, 0, len(c.Pauses)), Promoted: c.Promoted,
		HeapBefore: c.HeapBefore, HeapAfter: c.HeapAfter, FragBefore: c.FragmentationBefore, FragAfter: c.FragmentationAfter,
		Goal: c.Goal, Cycles: c.Cycles, Estimated: c.Estimated.Names(), Utilization: c.PauseUtilization,
		UtilizationSince: c.UtilizationSince, Compacting: c.Compacting, Concurrent: c.Concurrent, Pinned: c.Pinned,
		Finalizable: c.Finalizable, MemoryLoad: c.MemoryLoad, Allocated: c.Allocated, Incomplete: c.Incomplete,
	}
	if c.Fidelity == stall.Exact {
		d.Fidelity = c.Fidelity.String()
	}
	if c.Trigger != gc.TriggerUnknown {
		d.Trigger = c.Trigger
	}
	for _, p := range c.Pauses {
		d.Pauses = append(d.Pauses, Pause{p.Start, p.End, max(p.End, p.EndMax), p.Slack, p.Suspend, p.Phase.String(), newHost(p.HostDuring)})
	}
	for _, g := range c.Generations {
		d.Generations = append(d.Generations, Generation{
			g.ID.String(), g.SizeBefore, g.SizeAfter, g.FragmentationBefore, g.FragmentationAfter, g.Promoted, g.Survived, g.Budget,
		})
	}
	if c.CPU != (gc.CPU{}) {
		d.CPU = &CPU{c.CPU.Assist, c.CPU.Dedicated, c.CPU.Idle, c.CPU.Pause, c.CPU.Total}
	}
	d.HostDuring, d.UsualPause, d.Slowed = newHost(c.HostDuring), c.UsualPause, c.Slowed()
	if c.SlowedBy != gc.NotSlowed {
		d.SlowedBy = c.SlowedBy.String()
	}
	return d
}
