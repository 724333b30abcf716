package proc

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// TimeNamespace returns what the time namespace of pid adds to the CLOCK_MONOTONIC of the
// initial one: a process reads its instants that much later (time_namespaces(7)).
func TimeNamespace(clock stall.Clock, pid int) (time.Duration, error) {
	own, ownErr := os.Readlink("/proc/self/ns/time")
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/time", pid))
	if errors.Is(ownErr, fs.ErrNotExist) {
		return 0, nil // a kernel without time namespaces
	}
	if err == nil && its == own {
		return clock.Namespace(), nil
	}
	if err != nil {
		return 0, fmt.Errorf("read time namespace of process %d: %w", pid, err)
	}
	// The offsets are those of the namespace that its children will have.
	if children, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/time_for_children", pid)); err != nil || children != its {
		return 0, fmt.Errorf("read time namespace of process %d: its children are to have another (%s)", pid, cmp.Or(children, "not known"))
	}
	path := fmt.Sprintf("/proc/%d/timens_offsets", pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("read time namespace of process %d: %w", pid, err)
	}
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) != 3 || string(f[0]) != "monotonic" && string(f[0]) != "1" {
			continue
		}
		sec, err1 := strconv.ParseInt(string(f[1]), 10, 64)
		ns, err2 := strconv.ParseInt(string(f[2]), 10, 64)
		const most = 1 << 33 // 272 years
		if err1 != nil || err2 != nil || sec > most || sec < -most || ns < 0 || ns >= 1e9 {
			break
		}
		return time.Duration(sec*1e9 + ns), nil
	}
	return 0, fmt.Errorf("read %s: no offset of the monotonic clock", path)
}

// MadeAt returns when a process was made, by field 22 of its stat: clock ticks
// of CLOCK_BOOTTIME, which goes on while the machine sleeps.
func MadeAt(clock stall.Clock, ticks uint64) stall.Instant {
	const tick = time.Second / 100 // USER_HZ
	var boot unix.Timespec
	now := clock.Now()
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot); err != nil || ticks > uint64(1<<62/tick) {
		return now
	}
	asleep := time.Duration(boot.Nano()) - time.Duration(now)
	return max(1, stall.Instant(time.Duration(ticks)*tick-asleep))
}
