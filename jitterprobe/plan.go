package jitterprobe

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"

	"github.com/otelgc/otelgc/internal/cgroup"
	"github.com/otelgc/otelgc/jitterprobe/internal/rawspin"
	"github.com/otelgc/otelgc/jitterprobe/internal/sysstate"
	"github.com/otelgc/otelgc/jitterprobe/internal/tick"
	"github.com/otelgc/otelgc/stall"
)

// plan is what will run, and why it is not what was asked for.
type plan struct {
	mode   Mode
	cpu    int
	reason Reason
	note   string
}

// choose decides what can run here.
func choose(root string, o Options) (plan, error) {
	allowed, err := allowedCPUs()
	if err != nil {
		return plan{}, fmt.Errorf("start probe: %w", err)
	}
	if len(allowed) == 0 && o.CPU != nil {
		return plan{}, fmt.Errorf("probe cpu %d: %w on %s", *o.CPU, stall.ErrNotSupported, runtime.GOOS)
	}
	cpu, err := pickCPU(o.CPU, allowed)
	if err != nil {
		return plan{}, err
	}
	p := plan{mode: o.Mode, cpu: cpu}
	if p.mode == Auto {
		p.mode = Spin
	}
	if p.mode == Periodic {
		return p, nil
	}
	if reason, why := obstacle(root, p.mode, len(allowed), o.Force); reason != NoReason {
		p.degrade(reason, why)
	}
	return p, nil
}

// degrade makes the plan one for Periodic.
func (p *plan) degrade(r Reason, why string) {
	p.mode, p.reason, p.note = Periodic, r, why+": periodic"
}

// obstacle says what keeps mode from spinning, or NoReason.
func obstacle(root string, mode Mode, cpus int, force bool) (Reason, string) {
	supported := rawspin.Supported
	if mode == Runtime {
		supported = sysstate.Supported
	}
	if !supported {
		return NoAssembly, fmt.Sprintf("this build has no %s mode (%s/%s)", mode, runtime.GOOS, runtime.GOARCH)
	}
	if err := tick.Usable(root); err != nil {
		return NoCounter, err.Error()
	}
	if force {
		return NoReason, ""
	}
	if cpus == 1 {
		return OneCPU, "one CPU"
	}
	quota, err := ownQuota(os.DirFS(root))
	if err != nil {
		return QuotaUnknown, "cannot tell whether there is a cgroup quota: " + err.Error()
	}
	if quota.File != "" {
		return CPUQuota, fmt.Sprintf("cgroup quota of %.3g CPUs in /%s", quota.CPUs, path.Dir(quota.File))
	}
	return NoReason, ""
}

// ownQuota returns the tightest quota that this process runs under.
func ownQuota(root fs.FS) (cgroup.Quota, error) {
	groups, err := cgroup.Of(root, "self")
	if err != nil {
		return cgroup.Quota{}, err
	}
	return cgroup.Tightest(root, groups)
}

// start runs the plan. What cannot start after all, where clone(2) or
// sched_setaffinity(2) is forbidden, degrades too.
func (p *plan) start(o Options) (engine, error) {
	if p.mode != Periodic {
		e, err := startSpinning(p.mode, p.cpu, o.withThreshold(DefaultThreshold))
		if err == nil {
			return e, nil
		}
		p.degrade(NotPermitted, err.Error())
	}
	e, err := startPeriodic(p.cpu, o.withThreshold(DefaultPeriodicThreshold))
	if err != nil {
		return nil, fmt.Errorf("start probe: %w", err)
	}
	if s, ok := e.(*sleeper); ok {
		p.cpu = -1 // an ordinary goroutine runs where it is put
		if p.reason == NoReason {
			p.reason = CoarseSleep
		} else {
			p.note += "; "
		}
		p.note += s.note()
	}
	return e, nil
}

func startSpinning(mode Mode, cpu int, o Options) (engine, error) {
	if mode == Runtime {
		return startRuntime(cpu, o)
	}
	return startSpin(cpu, o)
}
