package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// Quota is a limit on CPU time.
type Quota struct {
	File string  // that says so, without the leading slash; empty if there is no quota
	CPUs float64 // quota / period
}

// Tightest returns the tightest quota of groups.
func Tightest(root fs.FS, groups []Group) (Quota, error) {
	var best Quota
	for _, g := range groups {
		q, err := g.Quota(root)
		if err != nil {
			return Quota{}, err
		}
		if q.File != "" && (best.File == "" || q.CPUs < best.CPUs) {
			best = q
		}
	}
	return best, nil
}

// Quota returns the quota of g itself.
func (g Group) Quota(root fs.FS) (Quota, error) {
	if g.V2 {
		file := path.Join(g.Dir, "cpu.max")
		text, err := line(root, file)
		if text == "" || err != nil {
			return Quota{}, err
		}
		quota, period, _ := strings.Cut(text, " ")
		return ratio(file, quota, period)
	}
	file := path.Join(g.Dir, "cpu.cfs_quota_us")
	quota, err := line(root, file)
	if quota == "" || err != nil {
		return Quota{}, err
	}
	period, err := line(root, path.Join(g.Dir, "cpu.cfs_period_us"))
	if err != nil {
		return Quota{}, err
	}
	return ratio(file, quota, period)
}

// ratio returns quota / period in microseconds; "max" and -1 mean no quota.
func ratio(file, quota, period string) (Quota, error) {
	if quota == "max" || strings.HasPrefix(quota, "-") {
		return Quota{}, nil
	}
	q, err1 := strconv.ParseUint(quota, 10, 63)
	p, err2 := strconv.ParseUint(period, 10, 63)
	if err1 != nil || err2 != nil || q == 0 || p == 0 {
		return Quota{}, fmt.Errorf("parse /%s: quota %q of period %q", file, quota, period)
	}
	return Quota{file, float64(q) / float64(p)}, nil
}

// line returns the content of a file of one line, empty if there is no such
// file: the top of a hierarchy has none.
func line(root fs.FS, file string) (string, error) {
	text, err := read(root, file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read quota: %w", err)
	}
	return strings.TrimSpace(text), nil
}

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

// MemoryLimit returns the tightest limit of memory, in bytes, that the process
// which proc names is under, as far as can be seen from here; 0 for none.
func MemoryLimit(root fs.FS, proc string) (int64, error) {
	groups, err := withController(root, proc, "memory")
	if err != nil {
		return 0, err
	}
	least := int64(0)
	for _, g := range groups {
		n, err := g.memoryLimit(root)
		if err != nil {
			return 0, err
		}
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least, nil
}

func (g Group) memoryLimit(root fs.FS) (int64, error) {
	file := path.Join(g.Dir, "memory.limit_in_bytes")
	if g.V2 {
		file = path.Join(g.Dir, "memory.max")
	}
	text, err := line(root, file)
	if text == "" || text == "max" || err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("parse /%s: %q", file, text)
	}
	return n, nil
}

// CPUs returns the list of the CPUs that the process may use at all, as the
// kernel writes it, such as "0-3,8", and the file that says so: that of its own
// cgroup, or of the nearest ancestor that has the controller
// (Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.effective; in v1
// cpuset.effective_cpus). Both are empty where no cgroup says.
func CPUs(root fs.FS, proc string) (list, file string, err error) {
	groups, err := withController(root, proc, "cpuset")
	if err != nil {
		return "", "", err
	}
	for _, g := range groups {
		name := "cpuset.effective_cpus"
		if g.V2 {
			name = "cpuset.cpus.effective"
		}
		file := path.Join(g.Dir, name)
		text, err := read(root, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", fmt.Errorf("read CPUs of cgroup: %w", err)
		}
		return strings.TrimSpace(text), file, nil
	}
	return "", "", nil
}

// Freezer is a file that says whether a cgroup is frozen, by itself or with an
// ancestor, and the line of it that says so.
type Freezer struct{ File, Line string }

// Freezers returns the freezers of a process's own cgroups: of v2
// (Documentation/admin-guide/cgroup-v2.rst, cgroup.events), and of v1
// (Documentation/admin-guide/cgroup-v1/freezer-subsystem.rst). The top of a
// hierarchy cannot be frozen.
func Freezers(root fs.FS, proc string) (list []Freezer, err error) {
	for _, controller := range []string{"", "freezer"} {
		groups, err := withController(root, proc, controller)
		if err != nil {
			return nil, err
		}
		if len(groups) == 0 || groups[0].V2 != (controller == "") {
			continue
		}
		f := Freezer{path.Join(groups[0].Dir, "freezer.state"), "FROZEN"}
		if groups[0].V2 {
			f = Freezer{path.Join(groups[0].Dir, "cgroup.events"), "frozen 1"}
		}
		if _, err := fs.Stat(root, f.File); err == nil {
			list = append(list, f)
		}
	}
	return list, nil
}
