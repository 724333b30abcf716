package kernel

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Waits is how long a thread has waited for a CPU since it began, which any
// process may read of its own threads.
type Waits struct {
	// Delay is the time it could run and did not (second field of schedstat,
	// Documentation/scheduler/sched-stats.rst).
	Delay time.Duration
	// Turns counts how often it got the CPU, in step with Delay (third field).
	Turns uint64
	// Blocked counts how often it gave the CPU up because it could not run on
	// (voluntary_ctxt_switches, proc_pid_status(5)).
	Blocked uint64
	// Faults counts its page faults.
	Faults uint64
}

// ReadWaits reads the waits of a thread of this process below root, which is
// "/" but in tests.
func ReadWaits(root string, tid int) (Waits, error) {
	dir := filepath.Join(root, "proc/self/task", strconv.Itoa(tid))
	var w Waits
	text, err := os.ReadFile(filepath.Join(dir, "schedstat"))
	if err != nil {
		return w, fmt.Errorf("read run delay: %w", err)
	}
	f := strings.Fields(string(text))
	if len(f) < 3 {
		return w, fmt.Errorf("parse schedstat: %q", text)
	}
	delay, err1 := strconv.ParseInt(f[1], 10, 64)
	turns, err2 := strconv.ParseUint(f[2], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return w, fmt.Errorf("parse schedstat: %w", err)
	}
	w.Delay, w.Turns = time.Duration(delay), turns
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return w, fmt.Errorf("read switches: %w", err)
	}
	for line := range strings.Lines(string(status)) {
		if name, value, _ := strings.Cut(line, ":"); name == "voluntary_ctxt_switches" {
			if w.Blocked, err = strconv.ParseUint(strings.TrimSpace(value), 10, 64); err != nil {
				return w, fmt.Errorf("parse status: %w", err)
			}
			w.Faults, err = readFaults(filepath.Join(dir, "stat"))
			return w, err
		}
	}
	return w, fmt.Errorf("parse status of thread %d: no count of switches", tid)
}

// readFaults returns the sum of fields 10 and 12, minor and major faults
// (proc_pid_stat(5)).
func readFaults(file string) (uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("read faults: %w", err)
	}
	// The name is in parentheses, and may hold some itself.
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 10 {
		return 0, fmt.Errorf("parse stat: %d fields", len(f))
	}
	minor, err1 := strconv.ParseUint(f[7], 10, 64)
	major, err2 := strconv.ParseUint(f[9], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return 0, fmt.Errorf("parse stat: %w", err)
	}
	return minor + major, nil
}
