package gotrace

import (
	"math/bits"
)

// decodeEvents decodes one batch of one thread. data has slop bytes past n. On
// an error the index is that of the event at fault.
//
// This is the loop that the speed of the package rests on: the events that
// make up nearly all of a trace are decoded here, straight from a word.
func (d *decoder) decodeEvents(t *thread, data []byte, n int, at ticks) (int, error) {
	i, events := 0, int64(0)
	args, tracking := d.args, d.tracking
	if n > 0 {
		dt, _ := uvarint(data, 1)
		d.noteFirst(at + ticks(dt))
	}
	for i < n {
		typ := eventType(data[i])
		count := args[typ]
		w := loadWord(data, i+1)
		e1 := w.ends()
		e2 := dropFirst(e1)
		e3 := dropFirst(e2)
		e4 := dropFirst(e3)
		end := e1
		if count > 1 {
			end = e2
		}
		if count > 2 {
			end = e3
		}
		if count > 3 {
			end = e4
		}
		if count > 4 {
			end = dropFirst(e4)
		}
		if end == 0 || count == structural {
			next, err := d.decodeLong(t, data, i, n, &at)
			if err != nil {
				return i, err
			}
			i, events = next, events+1
			continue
		}
		next := i + 2 + bits.TrailingZeros64(end)>>3
		if next > n {
			return i, broken("batch ends within an event")
		}
		i = next
		at += ticks(w.first(e1))
		events++
		switch typ {
		case evGoStart:
			d.bind(t, at, w.next(e1, e2), uint32(w.next(e2, e3)))
			if tracking {
				d.change(t.g, t.seq, at, started, 0)
			}
		case evGoBlock:
			if tracking {
				d.wait(t, at, blocked, w.next(e1, e2), w.next(e2, e3))
			}
			d.release(t, at)
		case evGoStop:
			if tracking {
				d.wait(t, at, stopped, w.next(e1, e2), 0)
			}
			d.release(t, at)
		case evGoUnblock:
			if tracking {
				d.change(w.next(e1, e2), uint32(w.next(e2, e3)), at, unblocked, 0)
			}
		case evGoSyscallBegin:
			if tracking {
				d.change(t.g, t.seq, at, enteredSyscall, 0)
			}
		case evGoSyscallEnd:
			if tracking {
				d.change(t.g, t.seq, at, leftSyscall, 0)
			}
		case evGoCreate:
			if tracking {
				d.change(w.next(e1, e2), 0, at, created, 0)
			}
		case evGoDestroy:
			if tracking {
				d.change(t.g, t.seq, at, ended, 0)
			}
			d.release(t, at)
		case evHeapAlloc:
			d.sample(&d.heap, at, w.next(e1, e2))
		case evUserLog:
			d.userLog(t, at, w.next(e2, e3))
		case evProcStart:
			d.handoff(t.id, at, true)
		case evProcStop:
			d.handoff(t.id, at, false)
		case evProcSteal:
			d.handoff(w.next(e3, e4), at, false)
		case evProcStatus, evProcsChange:
		default:
			d.dispatch(t, typ, at, [4]uint64{w.next(e1, e2), w.next(e2, e3), w.next(e3, e4)})
		}
	}
	if events > 0 && t.id != noThread {
		d.last = max(d.last, at)
	}
	d.events += events
	return n, nil
}

// decodeLong decodes the event at data[i], of any length, and returns the
// index behind it.
func (d *decoder) decodeLong(t *thread, data []byte, i, n int, at *ticks) (int, error) {
	typ := eventType(data[i])
	count := d.args[typ]
	if count == structural {
		return 0, broken("event %d in a batch of events", typ)
	}
	var a [4]uint64
	dt, i := uvarint(data, i+1)
	for k := range count - 1 {
		a[k&3], i = uvarint(data, i)
	}
	if i > n {
		return 0, broken("batch ends within an event")
	}
	*at += ticks(dt)
	d.dispatch(t, typ, *at, a)
	return i, nil
}

// dispatch hands an event to the part that it concerns.
func (d *decoder) dispatch(t *thread, typ eventType, at ticks, a [4]uint64) {
	switch typ {
	case evHeapAlloc:
		d.sample(&d.heap, at, a[0])
	case evHeapGoal:
		d.sample(&d.goals, at, a[0])
	case evSTWBegin:
		d.stopBegin(t, at, a[0], a[1])
	case evSTWEnd:
		d.stopEnd(t, at)
	case evGCActive, evGCEnd:
		d.cycleEdge(cycleEdge{typ: typ, seq: a[0], at: at, g: t.g})
	case evGCBegin:
		d.cycleEdge(cycleEdge{typ, a[0], at, t.g, a[1]})
	case evGCSweepBegin:
		d.sweepBegin(t, at)
	case evGCSweepActive:
		d.sweepActive(t, at)
	case evGCSweepEnd:
		d.sweepEnd(t, at)
	case evGCMarkAssistBegin:
		d.assistBegin(t, at)
	case evGCMarkAssistEnd:
		d.assistEnd(t, at)
	case evGCMarkAssistActive:
		d.assistEdge(typ, a[0], 0, at)
	case evGoLabel:
		d.workerBegin(t, at, a[0])
	case evUserLog:
		d.userLog(t, at, a[1])
	case evUserTaskBegin:
		d.userTask(userTask{g: t.g, at: at, id: a[0], parent: a[1], name: a[2]})
	case evUserTaskEnd:
		d.userTask(userTask{g: t.g, at: at, id: a[0], end: true})
	case evProcStart:
		d.handoff(t.id, at, true)
	case evProcStop:
		d.handoff(t.id, at, false)
	case evProcSteal:
		d.handoff(a[2], at, false)
	default:
		d.goroutine(t, typ, at, a)
	}
}

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
