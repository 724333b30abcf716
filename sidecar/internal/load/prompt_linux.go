package load

import (
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// shortTurn is how long a thread of the generator runs at a time, where others want
// its CPU: the shortest that Linux grants.
const shortTurn = 100 * time.Microsecond

// prompt has the threads of this process ask for short turns, and so for a CPU as
// soon as they want one, at no larger share of it (sched_setattr(2), Linux 6.12):
// what the generator is late would be in the latency that it measures. Threads to
// come inherit it. One that was pinned is no part of the generator. The function
// that it returns takes it back.
func prompt() (back func()) {
	setTurns(shortTurn)
	return func() { setTurns(0) }
}

// setTurns sets how long the threads run at a time, 0 for what is usual.
func setTurns(d time.Duration) {
	var usual, own unix.CPUSet
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil || unix.SchedGetaffinity(0, &usual) != nil {
		return
	}
	for _, t := range threads {
		tid, err := strconv.Atoi(t.Name())
		if err != nil || unix.SchedGetaffinity(tid, &own) != nil || own != usual {
			continue
		}
		attr, err := unix.SchedGetAttr(tid, 0)
		if err != nil || attr.Policy != unix.SCHED_NORMAL {
			continue
		}
		attr.Runtime = uint64(d)
		_ = unix.SchedSetAttr(tid, attr, 0) // an older kernel takes no notice
	}
}
