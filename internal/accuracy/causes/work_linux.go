package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/stall"
)

// ranFrom is how long a hog must not have run to know that it did not.
const ranFrom = 20 * time.Microsecond

// hog runs on cpu and returns when it did, by its own clock.
func hog(cpu int, clock stall.Clock, quit <-chan struct{}) (ran []stall.Span, err error) {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("pin hog: %w", err)
	}
	from := clock.Now()
	last := from
	for n := 0; ; n++ {
		now := clock.Now()
		if now.Sub(last) >= ranFrom {
			ran = append(ran, stall.Span{Start: from, End: last})
			from = now
		}
		last = now
		if n&1023 == 0 {
			select {
			case <-quit:
				return append(ran, stall.Span{Start: from, End: last}), nil
			default:
			}
		}
	}
}

// faultPatience is how long a fault may take to come, and faultEvery the time
// between two. Two looks at the count that are further apart than faultSharp do not
// know when it rose.
const (
	faultPatience = 300 * time.Microsecond
	faultSharp    = 100 * time.Microsecond
	faultEvery    = 2 * time.Millisecond
)

// fault takes the program's code out of its page table, again and again: the
// probe's thread has a page fault at its next instruction. It returns the spans
// in which the thread's own count of faults rose, each between two looks at it: the
// interrupt by which the kernel tells the thread's CPU comes first, and may make a
// gap of its own.
func fault(_ int, clock stall.Clock, quit <-chan struct{}) (truth []stall.Span, err error) {
	text, err := code()
	if err != nil {
		return nil, err
	}
	tid, err := probeThread(os.Getpid())
	if err != nil {
		return nil, err
	}
	stat, err := os.Open(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	if err != nil {
		return nil, err
	}
	defer func() { _ = stat.Close() }() // it was only read
	for {
		select {
		case <-quit:
			return truth, nil
		case <-time.After(faultEvery):
		}
		before, err := minorFaults(stat)
		if err != nil {
			return nil, err
		}
		begun := clock.Now()
		if _, _, e := unix.Syscall(unix.SYS_MADVISE, text.at, text.len, unix.MADV_DONTNEED); e != 0 {
			return nil, fmt.Errorf("take code out of the page table: %w", e)
		}
		for last := begun; last.Sub(begun) < faultPatience; {
			now := clock.Now()
			after, err := minorFaults(stat)
			if err != nil {
				return nil, err
			}
			if after != before {
				if s := (stall.Span{Start: last, End: clock.Now()}); s.Duration() <= faultSharp {
					truth = append(truth, s)
				}
				break
			}
			last = now
		}
	}
}

// memory is a mapping that the Go runtime did not make.
type memory struct{ at, len uintptr }

// code returns where this program's code lies.
func code() (memory, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return memory{}, fmt.Errorf("find code: %w", err)
	}
	for line := range strings.Lines(string(maps)) {
		f := strings.Fields(line)
		if len(f) < 6 || !strings.HasPrefix(f[1], "r-x") {
			continue
		}
		low, high, _ := strings.Cut(f[0], "-")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err1 == nil && err2 == nil && to > from {
			return memory{uintptr(from), uintptr(to - from)}, nil
		}
	}
	return memory{}, fmt.Errorf("find code: no mapping of it in /proc/self/maps")
}

// minorFaults reads field 10 of a stat file (proc_pid_stat(5)).
func minorFaults(f *os.File) (uint64, error) {
	var b [1024]byte
	n, err := f.ReadAt(b[:], 0)
	if n == 0 {
		return 0, fmt.Errorf("read faults: %w", err)
	}
	_, rest, _ := bytes.Cut(b[:n], []byte(") "))
	fields := bytes.Fields(rest)
	if len(fields) < 8 {
		return 0, fmt.Errorf("read faults: %d fields", len(fields))
	}
	return strconv.ParseUint(string(fields[7]), 10, 64)
}
