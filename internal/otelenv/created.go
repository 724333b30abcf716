package otelenv

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// userHZ is the unit of the clock ticks that Linux shows to programs: USER_HZ
// is 100 on every architecture that Go has.
const userHZ = 100

// creationTime returns when this process was made: the boot time of /proc/stat
// plus field 22 of /proc/self/stat, proc_pid_stat(5). The boot time is in whole
// seconds, and moves when the wall clock is stepped.
func (d detector) creationTime() (time.Time, error) {
	stat, err := os.ReadFile(d.root + "proc/self/stat")
	if err != nil {
		return time.Time{}, fmt.Errorf("read creation time: %w", err)
	}
	// The name of the program, field 2, may hold spaces and parentheses.
	f := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const startTime = 22 - 3
	if len(f) <= startTime {
		return time.Time{}, fmt.Errorf("read creation time: /proc/self/stat has %d fields after the name, want %d", len(f), startTime+1)
	}
	ticks, err := strconv.ParseUint(string(f[startTime]), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("read creation time: /proc/self/stat has start time %q", f[startTime])
	}
	return d.made(ticks)
}

// CreationTime returns process.creation.time of a process of this host that was
// made that many clock ticks after the boot, field 22 of its /proc/PID/stat.
func CreationTime(ticks uint64) (string, error) {
	made, err := detector{root: "/"}.made(ticks)
	if err != nil {
		return "", err
	}
	return formatCreation(made), nil
}

func (d detector) made(ticks uint64) (time.Time, error) {
	if ticks > uint64(time.Duration(1<<62)/(time.Second/userHZ)) {
		return time.Time{}, fmt.Errorf("read creation time: start time %d", ticks)
	}
	boot, err := d.bootTime()
	if err != nil {
		return time.Time{}, err
	}
	return boot.Add(time.Duration(ticks) * (time.Second / userHZ)), nil
}

func (d detector) bootTime() (time.Time, error) {
	text, err := os.ReadFile(d.root + "proc/stat")
	if err != nil {
		return time.Time{}, fmt.Errorf("read boot time: %w", err)
	}
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte("btime ")); ok {
			sec, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64)
			if err != nil {
				return time.Time{}, fmt.Errorf("read boot time: %w", err)
			}
			return time.Unix(sec, 0), nil
		}
	}
	return time.Time{}, fmt.Errorf("read boot time: /proc/stat has no btime")
}
