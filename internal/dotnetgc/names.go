package dotnetgc

import (
	"fmt"

	"github.com/otelgc/otelgc/stall/gc"
)

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
