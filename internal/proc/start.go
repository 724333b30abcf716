// Package proc reads what the kernel says of processes, proc(5), below a root that is
// os.DirFS("/") but in tests. A process is named by its PID, or by "self".
package proc

import (
	"bytes"
	"fmt"
	"io/fs"
	"strconv"
	"time"
)

// tick is the unit of the clock ticks that Linux shows to programs: USER_HZ is 100 on
// every architecture that Go has.
const tick = time.Second / 100

// StartTicks returns when a process was created, in clock ticks since the boot. With
// the PID it names one run of a process: PIDs are used again.
func StartTicks(root fs.FS, process string) (uint64, error) {
	name := "proc/" + process + "/stat"
	stat, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, fmt.Errorf("read start time: %w", err)
	}
	ticks, err := ParseStartTicks(stat)
	if err != nil {
		return 0, fmt.Errorf("read /%s: %w", name, err)
	}
	return ticks, nil
}

// ParseStartTicks returns field 22 of a /proc/PID/stat.
func ParseStartTicks(stat []byte) (uint64, error) {
	// The name of the program, field 2, may hold spaces and parentheses.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const at = 22 - 3
	if len(f) <= at {
		return 0, fmt.Errorf("%d fields after the name, want %d", len(f), at+1)
	}
	ticks, err := strconv.ParseUint(string(f[at]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("start time: %w", err)
	}
	return ticks, nil
}

// StartTime returns the wall time of a number of clock ticks after the boot. The boot
// time is in whole seconds, and moves when the wall clock is stepped.
func StartTime(root fs.FS, ticks uint64) (time.Time, error) {
	if ticks > uint64(time.Duration(1<<62)/tick) {
		return time.Time{}, fmt.Errorf("read boot time: start time %d is absurd", ticks)
	}
	text, err := fs.ReadFile(root, "proc/stat")
	if err != nil {
		return time.Time{}, fmt.Errorf("read boot time: %w", err)
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			sec, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil {
				return time.Time{}, fmt.Errorf("read boot time: %w", err)
			}
			return time.Unix(sec, 0).Add(time.Duration(ticks) * tick), nil
		}
	}
	return time.Time{}, fmt.Errorf("read boot time: /proc/stat has no btime")
}
