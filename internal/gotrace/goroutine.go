package gotrace

// goroutine follows which goroutine each thread runs, and notes the changes.
func (d *decoder) goroutine(t *thread, typ eventType, at ticks, a [4]uint64) {
	switch typ {
	case evGoStart:
		d.bind(t, at, a[0], uint32(a[1]))
		d.change(t.g, t.seq, at, started, 0)
	case evGoBlock:
		d.leave(t, at, blocked, waitDetail(a[0], a[1]))
	case evGoUnblock:
		d.change(a[0], uint32(a[1]), at, unblocked, 0)
	case evGoStop:
		d.leave(t, at, stopped, waitDetail(a[0], a[1]))
	case evGoSyscallBegin:
		d.change(t.g, t.seq, at, enteredSyscall, 0)
	case evGoSyscallEnd:
		d.change(t.g, t.seq, at, leftSyscall, 0)
	case evGoSyscallEndBlocked:
		d.leave(t, at, leftSyscallBlocked, 0)
	case evGoStatus, evGoStatusStack:
		d.status(t, at, a)
	case evGoCreate:
		d.change(a[0], 0, at, created, 0)
	case evGoCreateBlocked:
		d.change(a[0], 0, at, createdBlocked, 0)
	case evGoCreateSyscall:
		d.callbacks = true
		d.bind(t, at, a[0], 0)
		d.change(t.g, 0, at, createdInSyscall, 0)
	case evGoDestroy, evGoDestroySyscall:
		d.leave(t, at, ended, 0)
	case evGoSwitch:
		d.switchTo(t, at, switchedAway, a)
	case evGoSwitchDestroy:
		d.switchTo(t, at, endedSwitching, a)
	}
}

// bind puts a goroutine on a thread. If another is still there, its leaving was
// not seen.
func (d *decoder) bind(t *thread, at ticks, g uint64, seq uint32) {
	if t.g != 0 {
		d.release(t, at)
	}
	t.g, t.seq, t.since = g, seq, at
}

// leave takes the goroutine off its thread.
func (d *decoder) leave(t *thread, at ticks, c change, detail uint64) {
	d.change(t.g, t.seq, at, c, detail)
	d.release(t, at)
}

// release ends what a goroutine did on its thread.
func (d *decoder) release(t *thread, at ticks) {
	if t.worker.open || t.assist.open {
		d.endOnThread(t, at)
	}
	t.g = 0
}

func (d *decoder) endOnThread(t *thread, at ticks) {
	if t.worker.open {
		d.workerEnd(t, at)
	}
	d.assistLeaves(t)
}

// switchTo hands the thread from one coroutine to another.
func (d *decoder) switchTo(t *thread, at ticks, c change, a [4]uint64) {
	d.switches = d.switches%maxDetail + 1
	d.leave(t, at, c, d.switches)
	d.bind(t, at, a[0], uint32(a[1]))
	d.change(t.g, t.seq, at, switchedTo, d.switches)
}

// statusChange is the change for each tracev2.GoStatus, GoBad left out.
var statusChange = [...]change{1: isRunnable, 2: isRunning, 3: isInSyscall, 4: isWaiting}

func (d *decoder) status(t *thread, at ticks, a [4]uint64) {
	d.statuses++
	if a[2] == 0 || a[2] >= uint64(len(statusChange)) {
		return
	}
	c := statusChange[a[2]]
	d.change(a[0], 0, at, c, 0)
	if t.id != noThread && (c == isRunning || c == isInSyscall && a[1] == t.id) {
		if t.g == a[0] {
			t.seq = 0
			return // it has been there since the generation before
		}
		d.bind(t, at, a[0], 0)
	}
}
