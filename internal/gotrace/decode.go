package gotrace

import "math/bits"

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

// dispatch hands an event to those who care for it.
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
