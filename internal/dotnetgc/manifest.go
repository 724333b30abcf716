package dotnetgc

import (
	"encoding/binary"

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
		idGCPerHeapHistory, idGCGlobalHeapHistory, IDAllocationTick:
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
