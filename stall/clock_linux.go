package stall

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

const clockMonotonic = 1 // CLOCK_MONOTONIC, <linux/time.h>

func newClock() (Clock, error) {
	ns, err := timeNamespaceOffset("/proc/self/timens_offsets")
	if err != nil {
		return Clock{}, err
	}
	best := Clock{err: time.Hour}
	for range 16 {
		base := time.Now()
		var ts syscall.Timespec
		if _, _, e := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&ts)), 0); e != 0 {
			return Clock{}, fmt.Errorf("read CLOCK_MONOTONIC: %w", e)
		}
		width := time.Since(base)
		if e := width/2 + 1; e < best.err {
			at := Instant(ts.Nano()) - Instant(ns)
			best = Clock{base: base, offset: at.Add(-width / 2), err: e, shared: true, local: ns}
		}
	}
	return best, nil
}

// timeNamespaceOffset reads what this process's time namespace adds to
// CLOCK_MONOTONIC. A kernel without time namespaces has no such file.
func timeNamespaceOffset(path string) (time.Duration, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read time namespace offset: %w", err)
	}
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		// The name is "monotonic" since Linux 5.6, "1" in the first releases.
		if len(f) != 3 || (string(f[0]) != "monotonic" && string(f[0]) != "1") {
			continue
		}
		sec, err1 := strconv.ParseInt(string(f[1]), 10, 64)
		nsec, err2 := strconv.ParseInt(string(f[2]), 10, 64)
		const maxSec = int64(1<<63-1) / 1e9
		if err1 != nil || err2 != nil || sec > maxSec-1 || sec < -maxSec+1 || nsec < 0 || nsec >= 1e9 {
			return 0, fmt.Errorf("parse %s: line %q", path, bytes.TrimSpace(line))
		}
		return time.Duration(sec*1e9 + nsec), nil
	}
	return 0, fmt.Errorf("parse %s: no line for the monotonic clock", path)
}
