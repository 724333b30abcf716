package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
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
