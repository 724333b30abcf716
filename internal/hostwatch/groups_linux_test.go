package hostwatch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// place is where a cgroup can be made, and a file of it that is to be written.
type place struct{ top, file, value string }

// makeGroup makes a cgroup in the first of places where it can be. It goes with
// the test.
func makeGroup(t *testing.T, places ...place) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("not root: cannot make a cgroup")
	}
	var why error
	for _, p := range places {
		dir := filepath.Join(p.top, fmt.Sprintf("otelgc-hostwatch-%d", os.Getpid()))
		if why = os.Mkdir(dir, 0o755); why != nil {
			continue
		}
		if why = set(filepath.Join(dir, p.file), p.value); why != nil {
			_ = os.Remove(dir) // the next one may do
			continue
		}
		// After the child has gone, as cleanups run backward.
		t.Cleanup(func() { _ = os.Remove(dir) })
		return dir
	}
	t.Skipf("no such cgroup can be made here: %v", why)
	return ""
}

// set writes a file that is there: beside cgroups of v1 the top is a plain
// directory.
func set(file, value string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// makeQuota makes a cgroup of a twentieth of a CPU.
func makeQuota(t *testing.T) string {
	t.Helper()
	return makeGroup(t,
		place{"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "5000"},
		place{"/sys/fs/cgroup", "cpu.max", "5000 100000"})
}

// makeMemoryLimit makes a cgroup of so much memory, page cache with it.
func makeMemoryLimit(t *testing.T, bytes int) string {
	t.Helper()
	limit := strconv.Itoa(bytes)
	return makeGroup(t,
		place{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", limit},
		place{"/sys/fs/cgroup", "memory.max", limit})
}

// makePressureGroup makes a cgroup whose pressure is told: any of v2.
func makePressureGroup(t *testing.T) string {
	t.Helper()
	dir := makeGroup(t,
		place{"/sys/fs/cgroup/unified", "cgroup.max.depth", "max"},
		place{"/sys/fs/cgroup", "cgroup.max.depth", "max"})
	if _, err := os.Stat(filepath.Join(dir, "cpu.pressure")); err != nil {
		t.Skipf("no cgroup tells of pressure here: %v", err)
	}
	return dir
}

// freezer is where a cgroup can be frozen, and by what.
type freezer struct {
	place
	frozen string
}

// freezers are those of v1 and of v2.
var freezers = map[string]freezer{
	"v1":     {place{"/sys/fs/cgroup/freezer", "freezer.state", "THAWED"}, "FROZEN"},
	"v2":     {place{"/sys/fs/cgroup", "cgroup.freeze", "0"}, "1"},
	"hybrid": {place{"/sys/fs/cgroup/unified", "cgroup.freeze", "0"}, "1"},
}

// enter moves a process into a cgroup.
func enter(t *testing.T, dir string, pid int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
		t.Fatal(err)
	}
}
