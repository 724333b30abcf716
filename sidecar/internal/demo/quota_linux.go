package demo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/load"
)

// A quota of a fifth of a CPU: a big order uses it up, and the service stands still for
// the rest of the period.
const (
	quotaTime   = "20000" // us
	quotaPeriod = "100000"
)

// quota is a cgroup with a quota of CPU time.
type quota struct{ dir string }

// newQuota makes a cgroup in whichever hierarchy has the cpu controller. It has the
// greatest weight: the quota is to keep the service from running, not another process.
func newQuota() (*quota, error) {
	var all error
	for _, h := range []struct{ mount, weightFile, weight, file, text string }{
		{"/sys/fs/cgroup/cpu", "cpu.shares", "262144", "cpu.cfs_quota_us", quotaTime}, // its period is 100 ms
		{"/sys/fs/cgroup/cpu,cpuacct", "cpu.shares", "262144", "cpu.cfs_quota_us", quotaTime},
		{"/sys/fs/cgroup", "cpu.weight", "10000", "cpu.max", quotaTime + " " + quotaPeriod},
	} {
		removeStale(h.mount)
		dir, err := os.MkdirTemp(h.mount, dirPrefix)
		if err == nil {
			err = errors.Join(
				os.WriteFile(filepath.Join(dir, h.weightFile), []byte(h.weight), 0),
				os.WriteFile(filepath.Join(dir, h.file), []byte(h.text), 0))
			if err == nil {
				return &quota{dir}, nil
			}
			err = errors.Join(err, os.Remove(dir))
		}
		if !errors.Is(err, os.ErrNotExist) {
			all = err
		}
	}
	if all == nil {
		all = errors.New("no cpu controller below /sys/fs/cgroup")
	}
	return nil, fmt.Errorf("make a cgroup with a quota: %w (needs root)", all)
}

// removeStale removes cgroups of demos that were killed: they are empty, and older than
// any run.
func removeStale(mount string) {
	old, _ := filepath.Glob(filepath.Join(mount, dirPrefix+"*")) // the pattern is well-formed
	for _, dir := range old {
		if at, err := os.Stat(dir); err == nil && time.Since(at.ModTime()) > 2*load.MaxSpan {
			_ = os.Remove(dir) // one with a process in it stays
		}
	}
}

// take puts a process under the quota.
func (q *quota) take(pid int) error {
	err := os.WriteFile(filepath.Join(q.dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0)
	if err != nil {
		return fmt.Errorf("put service under a quota: %w", err)
	}
	return nil
}

// remove removes the cgroup, whose process has ended.
func (q *quota) remove() error { return os.Remove(q.dir) }
