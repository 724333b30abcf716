package kernel

import (
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
	// MajorFaults is how often this process waited for the disk.
	MajorFaults int64
}

// ReadWaits reads the waits of a thread of this process below root, which is
// "/" but in tests.
func ReadWaits(root string, tid int) (Waits, error) {
	dir := filepath.Join(root, "proc/self/task", strconv.Itoa(tid))
	w := Waits{MajorFaults: majorFaults()}
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
			w.Blocked, err = strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return w, err
		}
	}
	return w, fmt.Errorf("parse status of thread %d: no count of switches", tid)
}
