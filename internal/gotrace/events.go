package gotrace

// eventType is the first byte of an event. The names are those of
// internal/trace/tracev2, without "Ev".
type eventType uint8

const (
	evNone eventType = iota
	evEventBatch
	evStacks
	evStack
	evStrings
	evString
	evCPUSamples
	evCPUSample
	evFrequency
	evProcsChange
	evProcStart
	evProcStop
	evProcSteal
	evProcStatus
	evGoCreate
	evGoCreateSyscall
	evGoStart
	evGoDestroy
	evGoDestroySyscall
	evGoStop
	evGoBlock
	evGoUnblock
	evGoSyscallBegin
	evGoSyscallEnd
	evGoSyscallEndBlocked
	evGoStatus
	evSTWBegin
	evSTWEnd
	evGCActive
	evGCBegin
	evGCEnd
	evGCSweepActive
	evGCSweepBegin
	evGCSweepEnd
	evGCMarkAssistActive
	evGCMarkAssistBegin
	evGCMarkAssistEnd
	evHeapAlloc
	evHeapGoal
	evGoLabel
	evUserTaskBegin
	evUserTaskEnd
	evUserRegionBegin
	evUserRegionEnd
	evUserLog // the last of Go 1.22
	evGoSwitch
	evGoSwitchDestroy
	evGoCreateBlocked
	evGoStatusStack
	evExperimentalBatch // the last of Go 1.23
	evSync
	evClockSnapshot   // the last of Go 1.25
	evEndOfGeneration // the last of Go 1.26
	numEvents

	evExperimentalFirst eventType = 128
)

// structural marks an event that does not belong into a batch of events.
const structural = 0

// eventArgs holds the number of arguments of each event that has a timestamp,
// the timestamp included.
var eventArgs = [numEvents]uint8{
	evProcsChange: 3, evProcStart: 3, evProcStop: 1, evProcSteal: 4, evProcStatus: 3,
	evGoCreate: 4, evGoCreateSyscall: 2, evGoStart: 3, evGoDestroy: 1, evGoDestroySyscall: 1,
	evGoStop: 3, evGoBlock: 3, evGoUnblock: 4,
	evGoSyscallBegin: 3, evGoSyscallEnd: 1, evGoSyscallEndBlocked: 1, evGoStatus: 4,
	evSTWBegin: 3, evSTWEnd: 1,
	evGCActive: 2, evGCBegin: 3, evGCEnd: 2,
	evGCSweepActive: 2, evGCSweepBegin: 2, evGCSweepEnd: 3,
	evGCMarkAssistActive: 2, evGCMarkAssistBegin: 2, evGCMarkAssistEnd: 1,
	evHeapAlloc: 2, evHeapGoal: 2,
	evGoLabel: 2, evUserTaskBegin: 5, evUserTaskEnd: 3,
	evUserRegionBegin: 4, evUserRegionEnd: 4, evUserLog: 5,
	evGoSwitch: 3, evGoSwitchDestroy: 3, evGoCreateBlocked: 4, evGoStatusStack: 5,
	evClockSnapshot: structural, // of a sync batch only
}

// experimentalArgs holds the same for the events of the AllocFree experiment,
// from evExperimentalFirst on, since Go 1.23.
var experimentalArgs = [...]uint8{4, 4, 2, 3, 3, 2, 3, 3, 2}

// eventTable returns the number of arguments per event type of a version; an
// event that the version does not have is structural.
func eventTable(version int) *[256]uint8 {
	last := evUserLog
	switch {
	case version >= go126:
		last = evEndOfGeneration
	case version >= go125:
		last = evClockSnapshot
	case version >= go123:
		last = evExperimentalBatch
	}
	var t [256]uint8
	copy(t[:], eventArgs[:last+1])
	if version >= go123 {
		copy(t[evExperimentalFirst:], experimentalArgs[:])
	}
	return &t
}
