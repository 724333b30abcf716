package dotnetgc

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

const (
	// Provider is the runtime's provider of events.
	Provider = "Microsoft-Windows-DotNETRuntime"
	// Keywords and Level are what the events of this package need: GC,
	// Informational.
	Keywords = 0x1
	Level    = 4
)

// The ids of the events that the model reads.
const (
	idGCStart             = 1
	idGCEnd               = 2
	idGCRestartEEEnd      = 3
	idGCHeapStats         = 4
	idGCRestartEEBegin    = 7
	idGCSuspendEEEnd      = 8
	idGCSuspendEEBegin    = 9
	idGCPerHeapHistory    = 204
	idGCGlobalHeapHistory = 205
)

// EventIDs returns the ids of the events that the model needs, for a session
// that names what it wants (CollectTracing5).
func EventIDs() []uint32 {
	return []uint32{
		idGCStart, idGCEnd, idGCRestartEEEnd, idGCHeapStats, idGCRestartEEBegin, idGCSuspendEEEnd, idGCSuspendEEBegin,
		idGCPerHeapHistory, idGCGlobalHeapHistory,
	}
}

// Want reports whether the model reads an event. It is for nettrace.Options.
func Want(provider string, id, _ int) bool {
	if provider != Provider {
		return false
	}
	switch id {
	case idGCStart, idGCEnd, idGCRestartEEEnd, idGCHeapStats, idGCRestartEEBegin, idGCSuspendEEEnd, idGCSuspendEEBegin,
		idGCPerHeapHistory, idGCGlobalHeapHistory:
		return true
	}
	return false
}

// isOfStop reports whether an event is one of the four of a stop.
func isOfStop(id int) bool {
	return id == idGCSuspendEEBegin || id == idGCSuspendEEEnd || id == idGCRestartEEBegin || id == idGCRestartEEEnd
}

func u16(b []byte, at int) uint16 { return binary.LittleEndian.Uint16(b[at:]) }
func u32(b []byte, at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
func u64(b []byte, at int) uint64 { return binary.LittleEndian.Uint64(b[at:]) }

// gcStart is GCStart: u32 Count, u32 Depth, u32 Reason, u32 Type, and later
// fields. V0 is u32 Count, u32 Reason.
type gcStart struct {
	number uint64
	depth  gc.Maybe[int]
	reason Reason
	typ    Type
}

func readGCStart(b []byte, version int) (s gcStart, ok bool) {
	if version == 0 {
		if len(b) < 8 {
			return s, false
		}
		return gcStart{number: uint64(u32(b, 0)), reason: Reason(u32(b, 4))}, true
	}
	if len(b) < 16 {
		return s, false
	}
	return gcStart{uint64(u32(b, 0)), generationOf(u32(b, 4)), Reason(u32(b, 8)), Type(u32(b, 12))}, true
}

// generationOf returns the generation that a collection was of, if it can be.
func generationOf(v uint32) gc.Maybe[int] {
	if v > uint32(gc.Gen2) {
		return gc.Maybe[int]{}
	}
	return gc.Known(int(v))
}

// readGCEnd reads GCEnd: u32 Count, u32 Depth, u16. V0 has a u16 Depth.
func readGCEnd(b []byte, version int) (number uint64, depth gc.Maybe[int], ok bool) {
	switch {
	case version == 0 && len(b) >= 6:
		return uint64(u32(b, 0)), generationOf(uint32(u16(b, 4))), true
	case version > 0 && len(b) >= 8:
		return uint64(u32(b, 0)), generationOf(u32(b, 4)), true
	}
	return 0, depth, false
}

// readSuspend reads GCSuspendEEBegin: u32 Reason, u32 Count. V0 is u16 Reason.
// Count does not name the collection reliably: it is left.
func readSuspend(b []byte, version int) (SuspendReason, bool) {
	switch {
	case version == 0 && len(b) >= 2:
		return SuspendReason(u16(b, 0)), true
	case version > 0 && len(b) >= 4:
		return SuspendReason(u32(b, 0)), true
	}
	return 0, false
}

// TraceEventPause returns the pause of c as TraceEvent computes it, and
// PerfView's GCStats with it, and whether that can be computed (microsoft/
// perfview, src/TraceEvent/Computers/TraceManagedProcess.cs, GCStart and
// GCRestartEEStop). It differs from PauseTotal: a pause lasts until
// GCRestartEEEnd; one of an ephemeral collection at the start of a background
// one, and of a PMFullGC, begins at GCStart, and the background one gets the
// time to suspend; of one that was announced as background and ran blocking,
// only the time to suspend counts; one that a PMFullGC follows in its stop has
// none.
func (c *Collection) TraceEventPause() (time.Duration, bool) {
	if len(c.Stops) == 0 {
		return 0, false
	}
	var sum time.Duration
	for i := range c.Stops {
		s := &c.Stops[i]
		shared := len(s.Collections) > 1
		cut := c.Type != BackgroundGC && shared && s.Collections[len(s.Collections)-1] != c.Index
		if s.RestartEnd == 0 || s.Suspended == 0 || cut {
			return 0, false
		}
		end, ended := c.End.Get()
		switch {
		case c.Type != BackgroundGC && (shared && s.Collections[0] != c.Index || c.Reason == PMFullGC):
			sum += s.RestartEnd.Sub(c.Start.Or(s.Begin))
		case c.Type == BackgroundGC && i == 0 && (shared || ended && end < s.RestartEnd):
			sum += s.Suspended.Sub(s.Begin)
		default:
			sum += s.RestartEnd.Sub(s.Begin)
		}
	}
	return sum, true
}

// Reason is why a collection began: GCStart.Reason (runtime,
// src/coreclr/gc/gc.h, gc_reason; names as in TraceEvent's GCReason).
type Reason uint32

const (
	Induced  Reason = 1
	PMFullGC Reason = 12
)

var reasonNames = [...]string{
	"AllocSmall", "Induced", "LowMemory", "Empty", "AllocLarge", "OutOfSpaceSOH", "OutOfSpaceLOH", "InducedNotForced",
	"Internal", "InducedLowMemory", "InducedCompacting", "LowMemoryHost", "PMFullGC", "LowMemoryHostBlocking",
	"BgcTuningSOH", "BgcTuningLOH", "BgcStepping", "InducedAggressive",
}

// String returns the name of r, such as "AllocSmall".
func (r Reason) String() string { return nameOf(reasonNames[:], "Reason", uint32(r)) }

// Type is what GCStart announced. It may run otherwise: see Collection.Kind.
type Type uint32

const (
	NonConcurrentGC Type = iota
	BackgroundGC
	ForegroundGC // ephemeral, while a background one runs
)

var typeNames = [...]string{"NonConcurrentGC", "BackgroundGC", "ForegroundGC"}

// String returns the name of t, such as "BackgroundGC".
func (t Type) String() string { return nameOf(typeNames[:], "Type", uint32(t)) }

// SuspendReason is why the world was stopped: GCSuspendEEBegin.Reason (runtime,
// src/coreclr/vm/threadsuspend.h, SUSPEND_REASON).
type SuspendReason uint32

const (
	Other     SuspendReason = 0 // such as a sample of all stacks
	ForGC     SuspendReason = 1
	ForGCPrep SuspendReason = 6 // a further pause of a background collection
)

var suspendNames = [...]string{
	"Other", "ForGC", "ForAppDomainShutdown", "ForCodePitching", "ForShutdown", "ForDebugger", "ForGCPrep", "ForDebuggerSweep",
}

// String returns the name of r, such as "ForGC".
func (r SuspendReason) String() string { return nameOf(suspendNames[:], "SuspendReason", uint32(r)) }

// IsGC reports whether the stop was for a collection.
func (r SuspendReason) IsGC() bool { return r == ForGC || r == ForGCPrep }

// PauseMode is how the program wants to be collected: GCSettings.LatencyMode
// (runtime, src/coreclr/gc/gcinterface.h, gc_pause_mode; names as in .NET's
// GCLatencyMode). The program may change it at any time.
type PauseMode uint32

var pauseModeNames = [...]string{"Batch", "Interactive", "LowLatency", "SustainedLowLatency", "NoGCRegion"}

// String returns the name of m, such as "Interactive".
func (m PauseMode) String() string { return nameOf(pauseModeNames[:], "PauseMode", uint32(m)) }

// pauseModeOf returns the mode that v is, nothing for one without a name: a
// caller that keeps each mode once keeps no more of them than there are.
func pauseModeOf(v uint32) (m gc.Maybe[PauseMode]) {
	if uint64(v) < uint64(len(pauseModeNames)) {
		m = gc.Known(PauseMode(v))
	}
	return m
}

// nameOf names v. A number that is not known is kept as it is, if a runtime to
// come can mean it.
func nameOf(names []string, kind string, v uint32) string {
	switch {
	case uint64(v) < uint64(len(names)):
		return names[v]
	case v < maxUnnamed:
		return fmt.Sprintf("%s(%d)", kind, v)
	}
	return kind + "(other)"
}
