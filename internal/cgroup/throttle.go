package cgroup

import (
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// Throttle is what one cgroup says of its throttling since it was made.
type Throttle struct {
	Count uint64        // nr_throttled
	Time  time.Duration // throttled_time, summed over CPUs
}

// Throttle reads the cpu.stat of g. It reports false where that does not count
// throttling: no controller, or the top.
func (g Group) Throttle(root fs.FS) (Throttle, bool) {
	text, err := read(root, path.Join(g.Dir, "cpu.stat"))
	if err != nil {
		return Throttle{}, false
	}
	return parseThrottle(text)
}

// parseThrottle reads the text of a cpu.stat: throttled_time in nanoseconds in
// v1 (Documentation/scheduler/sched-bwc.rst), throttled_usec in v2
// (Documentation/admin-guide/cgroup-v2.rst).
func parseThrottle(text string) (t Throttle, ok bool) {
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(value, 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "nr_throttled":
			t.Count, ok = n, true
		case "throttled_time":
			t.Time = time.Duration(min(n, math.MaxInt64))
		case "throttled_usec":
			t.Time = time.Duration(min(n, math.MaxInt64/1000)) * time.Microsecond
		}
	}
	return t, ok
}
