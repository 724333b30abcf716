package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit of the clock ticks that Linux shows to programs: USER_HZ is 100 on
// every architecture that Go has.
const Tick = time.Second / 100

// Stat is what /proc/PID/stat says of a process, or /proc/PID/task/TID/stat of a thread
// (proc_pid_stat(5)).
type Stat struct {
	ID          int
	Name        string // of the program, at most 15 bytes; it may hold anything
	State       string // such as R, running or runnable
	MajorFaults uint64
	CPU         time.Duration // user and system time, in steps of Tick, at most 292 years
	Threads     uint64
	Created     uint64 // clock ticks since the boot
	// LastCPU is where it ran last, Priority its real-time priority and Policy the
	// number of its scheduling policy (sched(7)). Kernels before 2.5.19 have none.
	LastCPU, Priority, Policy int
}

// ParseStat reads the text of a stat.
func ParseStat(text []byte) (s Stat, err error) {
	open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return Stat{}, errors.New("no name in parentheses")
	}
	const first = 3 // the field after the name
	f := bytes.Fields(text[end+1:])
	if len(f) <= 22-first {
		return Stat{}, fmt.Errorf("%d fields after the name, want %d", len(f), 22-first+1)
	}
	number := func(text []byte, most uint64) uint64 {
		n, e := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
		if e == nil && n > most {
			e = fmt.Errorf("%d is too large", n)
		}
		err = errors.Join(err, e)
		return n
	}
	const maxInt, maxCount = 1 << 31, 1 << 62
	s = Stat{
		ID: int(number(text[:open], maxInt)), Name: strings.TrimSpace(string(text[open+1 : end])), State: string(f[0]),
		MajorFaults: number(f[12-first], maxCount),
		CPU:         time.Duration(min(number(f[14-first], maxCount)+number(f[15-first], maxCount), uint64(math.MaxInt64/Tick))) * Tick,
		Threads:     number(f[20-first], maxCount),
		Created:     number(f[22-first], maxCount),
	}
	if len(f) > 41-first {
		s.LastCPU, s.Priority, s.Policy = int(number(f[39-first], maxInt)), int(number(f[40-first], maxInt)), int(number(f[41-first], maxInt))
	}
	return s, err
}

// Ended reports whether no thread of the process is left. Where only its first thread
// has ended, the state is the same.
func (s *Stat) Ended() bool { return s.State == "X" || s.State == "Z" && s.Threads <= 1 }

// ReadStat reads the stat of a process.
func ReadStat(root fs.FS, process string) (Stat, error) {
	name := "proc/" + process + "/stat"
	text, err := Read(root, name)
	if err != nil {
		return Stat{}, err
	}
	s, err := ParseStat(text)
	if err != nil {
		return Stat{}, fmt.Errorf("read /%s: %w", name, err)
	}
	return s, nil
}
