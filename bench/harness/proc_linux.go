package harness

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Thread is what the scheduler counts of a thread
// (Documentation/scheduler/sched-stats.rst).
type Thread struct {
	TID   int
	Name  string
	CPU   time.Duration
	Turns uint64 // times that it got a CPU
}

// ProbeThread is the name of the thread on which a probe spins.
const ProbeThread = "otelgc-probe"

// ReadThread reads the counters of a thread of any process.
func ReadThread(tid int) (Thread, error) { return readThread(tid, fmt.Sprintf("/proc/%d", tid)) }

func readThread(tid int, dir string) (Thread, error) {
	t := Thread{TID: tid}
	name, err := os.ReadFile(filepath.Join(dir, "comm"))
	if err != nil {
		return t, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "schedstat"))
	if err != nil {
		return t, err
	}
	t.Name = strings.TrimSpace(string(name))
	var delay time.Duration // ready, while others had the CPU
	if _, err := fmt.Sscan(string(text), &t.CPU, &delay, &t.Turns); err != nil {
		return t, fmt.Errorf("parse schedstat %q: %w", text, err)
	}
	return t, nil
}

// Threads returns the threads of a process. Those that end meanwhile are missing.
func Threads(pid int) (all []Thread, err error) {
	dirs, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	for _, dir := range dirs {
		tid, _ := strconv.Atoi(filepath.Base(dir))
		t, err := readThread(tid, dir)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("list threads of process %d: it has ended", pid)
	}
	return all, nil
}

// Memory returns RssAnon and RssShmem of a process together (proc_pid_status(5)),
// in bytes.
func Memory(pid int) (sum uint64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "RssAnon" && name != "RssShmem" {
			continue
		}
		var kb uint64
		if _, err := fmt.Sscan(value, &kb); err != nil {
			return 0, fmt.Errorf("read %s of process %d: %w", name, pid, err)
		}
		sum, found = sum+kb<<10, found+1
	}
	if found != 2 {
		return 0, fmt.Errorf("read status of process %d: no RssAnon and RssShmem", pid)
	}
	return sum, nil
}

// CPU returns the CPU time of a process, by its CPU clock
// (clock_getcpuclockid(3)): threads that ended are in it.
func CPU(pid int) (time.Duration, error) {
	const sched = 2 // CPUCLOCK_SCHED, <linux/posix-timers.h>
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &t); err != nil {
		return 0, fmt.Errorf("read CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// ThreadCPU returns the CPU time of the calling thread.
func ThreadCPU() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}
