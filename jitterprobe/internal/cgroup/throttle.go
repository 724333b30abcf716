package cgroup

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Throttle is what one cgroup says of its throttling since it was made.
type Throttle struct {
	Inode uint64        // of the cgroup's directory
	Count uint64        // nr_throttled
	Time  time.Duration // throttled_time, summed over CPUs
}

// Watch reads the throttling of a process's cgroups.
type Watch struct {
	files  []string
	inodes []uint64
}

// NewWatch finds the cgroups of this process that count their throttling. One
// without any finds none, and Read yields nothing.
func NewWatch(root string) (*Watch, error) {
	groups, err := hierarchy(root)
	if err != nil {
		return nil, err
	}
	w := &Watch{}
	for _, g := range groups {
		dir := filepath.Join(root, g.dir)
		file := filepath.Join(dir, "cpu.stat")
		if _, ok := readThrottle(file); !ok {
			continue
		}
		info, err := os.Stat(dir)
		if err != nil {
			continue // it has gone since
		}
		w.files = append(w.files, file)
		w.inodes = append(w.inodes, inode(info))
	}
	return w, nil
}

// Read appends the present state of each cgroup to dst, own first, always the
// same number of them. One that cannot be read has an Inode and nothing else.
func (w *Watch) Read(dst []Throttle) []Throttle {
	for i, file := range w.files {
		t, _ := readThrottle(file)
		t.Inode = w.inodes[i]
		dst = append(dst, t)
	}
	return dst
}

// readThrottle reads cpu.stat: throttled_time in nanoseconds in v1
// (Documentation/scheduler/sched-bwc.rst), throttled_usec in v2
// (Documentation/admin-guide/cgroup-v2.rst). It reports false for a file
// without them: no controller, or the top.
func readThrottle(file string) (t Throttle, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return t, false
	}
	for line := range strings.Lines(string(text)) {
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
