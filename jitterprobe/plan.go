package jitterprobe

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/otelgc/otelgc/jitterprobe/internal/spin"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/stall"
)

// choose decides what can run here.
func choose(root string, o Options) (Summary, error) {
	allowed, err := allowedCPUs()
	if err != nil {
		return Summary{}, fmt.Errorf("start probe: %w", err)
	}
	if len(allowed) == 0 && o.CPU != nil {
		return Summary{}, fmt.Errorf("probe cpu %d: %w on %s", *o.CPU, stall.ErrNotSupported, runtime.GOOS)
	}
	cpu, err := pickCPU(o.CPU, allowed)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Snapshot: newSnapshot(), Mode: o.Mode, CPU: cpu}
	if s.Mode == Auto {
		s.Mode = Spin
	}
	if s.Mode != Periodic {
		s.degrade(obstacle(root, s.Mode, len(allowed), o.Force))
	}
	return s, nil
}

// degrade makes s one of Periodic if there is an obstacle.
func (s *Summary) degrade(obstacle error) {
	if obstacle != nil {
		s.Mode, s.obstacle, s.Note = Periodic, obstacle, obstacle.Error()+": periodic"
	}
}

// startLoop starts the loop that s says. What cannot start after all, where clone(2) or
// sched_setaffinity(2) is forbidden, degrades too.
func (s *Summary) startLoop(o Options) (*loop, error) {
	if s.Mode != Periodic {
		spinning := o
		spinning.Threshold = cmp.Or(o.Threshold, DefaultThreshold)
		l, err := startLoop(s.Mode, s.CPU, spinning)
		if err == nil {
			return l, nil
		}
		s.degrade(err)
	}
	o.Threshold = cmp.Or(o.Threshold, DefaultPeriodicThreshold)
	if !spin.Supported {
		s.CPU = -1 // an ordinary goroutine runs where it is put
		o.Threshold = max(o.Threshold, coarseThreshold)
		if s.Note != "" {
			s.Note += "; "
		}
		s.Note += fmt.Sprintf("time.Sleep: gaps from %v, gaps of the machine and of the runtime look alike", o.Threshold)
	}
	l, err := startLoop(Periodic, s.CPU, o)
	if err != nil {
		return nil, fmt.Errorf("start probe: %w", err)
	}
	return l, nil
}

// ErrQuota says that a spinner would use up a cgroup's quota.
var ErrQuota = errors.New("cgroup quota")

// obstacle returns what keeps mode from spinning, nil if nothing does.
func obstacle(root string, mode Mode, cpus int, force bool) error {
	if !spin.Supported { // nor is Runtime
		return fmt.Errorf("this build has no %s mode (%s/%s)", mode, runtime.GOOS, runtime.GOARCH)
	}
	if err := spin.Usable(root); err != nil || force {
		return err
	}
	if cpus == 1 {
		return errors.New("one CPU")
	}
	quota, err := ownQuota(os.DirFS(root))
	switch {
	case err != nil:
		return fmt.Errorf("cannot tell whether there is a cgroup quota: %w", err)
	case quota.File != "":
		return fmt.Errorf("%w of %.3g CPUs in /%s", ErrQuota, quota.CPUs, path.Dir(quota.File))
	}
	return nil
}

// ownQuota returns the tightest quota that this process runs under.
func ownQuota(root fs.FS) (cgroup.Quota, error) {
	groups, err := cgroup.Of(root, "self")
	if err != nil {
		return cgroup.Quota{}, err
	}
	return cgroup.Tightest(root, groups)
}

// ErrCPU says that the probe may not run on the CPU that was asked for: it does
// not exist, or the cpuset or affinity of this process excludes it.
var ErrCPU = errors.New("not allowed")

// pickCPU returns the CPU that is wanted, or the last allowed one.
func pickCPU(want *int, allowed []int) (int, error) {
	if len(allowed) == 0 {
		return -1, nil
	}
	if want == nil {
		return allowed[len(allowed)-1], nil
	}
	if !slices.Contains(allowed, *want) {
		return -1, fmt.Errorf("probe cpu %d: %w (allowed: %s)", *want, ErrCPU, cpuList(allowed))
	}
	return *want, nil
}

// cpuList writes sorted numbers as the kernel does, such as "0-3,8".
func cpuList(cpus []int) string {
	var b strings.Builder
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(cpus[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(cpus[j]))
		}
		i = j + 1
	}
	return b.String()
}
