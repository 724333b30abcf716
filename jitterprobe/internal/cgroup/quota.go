package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Quota is a limit on CPU time.
type Quota struct {
	Dir  string  // of the cgroup that has it; empty if there is no quota
	CPUs float64 // quota / period
}

// FindQuota returns the tightest quota of this process's cgroup and its
// ancestors.
func FindQuota(root string) (Quota, error) {
	groups, err := hierarchy(root)
	if err != nil {
		return Quota{}, err
	}
	var best Quota
	for _, g := range groups {
		cpus, err := g.quota(root)
		if err != nil {
			return Quota{}, err
		}
		if cpus > 0 && (best.Dir == "" || cpus < best.CPUs) {
			best = Quota{g.dir, cpus}
		}
	}
	return best, nil
}

// quota returns the quota of g in CPUs, 0 if it has none.
func (g group) quota(root string) (float64, error) {
	dir := filepath.Join(root, g.dir)
	if g.v2 {
		text, err := readLine(filepath.Join(dir, "cpu.max"))
		if text == "" || err != nil {
			return 0, err
		}
		quota, period, _ := strings.Cut(text, " ")
		return ratio(filepath.Join(g.dir, "cpu.max"), quota, period)
	}
	quota, err := readLine(filepath.Join(dir, "cpu.cfs_quota_us"))
	if quota == "" || err != nil {
		return 0, err
	}
	period, err := readLine(filepath.Join(dir, "cpu.cfs_period_us"))
	if err != nil {
		return 0, err
	}
	return ratio(filepath.Join(g.dir, "cpu.cfs_quota_us"), quota, period)
}

// ratio returns quota / period in microseconds; "max" and -1 mean no quota.
func ratio(file, quota, period string) (float64, error) {
	if quota == "max" || strings.HasPrefix(quota, "-") {
		return 0, nil
	}
	q, err1 := strconv.ParseUint(quota, 10, 63)
	p, err2 := strconv.ParseUint(period, 10, 63)
	if err1 != nil || err2 != nil || p == 0 {
		return 0, fmt.Errorf("parse %s: quota %q of period %q", file, quota, period)
	}
	return float64(q) / float64(p), nil
}

// readLine returns the content of a file of one line, empty if there is no
// such file: the top of a hierarchy has none.
func readLine(file string) (string, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read quota: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
