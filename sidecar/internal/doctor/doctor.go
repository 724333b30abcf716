// Package doctor checks whether numbers from this machine can be believed. It reads
// /proc and /sys, says what each setting does to a probe or to a service and what to do
// about it, and says which causes of gaps this process has the rights to decide. The
// checks are rows of tables, such as cpuChecks.
//
// A check whose file cannot be read is n/a with the reason, never ok. The doctor changes
// nothing.
package doctor

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
)

// Schema names the JSON document.
const Schema = "otelgc.doctor/1"

// DefaultSelfTest is how long the self-test takes.
const DefaultSelfTest = 2 * time.Second

// ErrTarget is the error if the target does not exist.
var ErrTarget = errors.New("no target")

// Options say what to check. The zero value checks for a spinning probe on the CPU
// that it would take.
type Options struct {
	// Mode is the mode of the probe. Auto is checked as Spin.
	Mode jitterprobe.Mode
	// CPU is the logical number of the probe's CPU. Nil is the last one that
	// this process may use, as in jitterprobe.Options.
	CPU *int
	// Target is the PID of the process that is watched; 0 for none.
	Target int
	// TargetOnly runs the checks of the target alone, for a machine that was checked
	// before.
	TargetOnly bool
	// SelfTest is how long the self-test takes. Zero means DefaultSelfTest, a negative
	// value means no self-test.
	SelfTest time.Duration
	// Probe is a probe that runs already, or nil. Its mode and CPU then replace Mode and
	// CPU. There is no self-test, since that would disturb it.
	Probe *jitterprobe.Probe
}

// Report is what the doctor found.
type Report struct {
	Schema string  `json:"schema"`
	Mode   string  `json:"mode"`
	CPU    *int    `json:"cpu,omitempty"`
	Target int     `json:"target,omitempty"` // PID
	Checks []Check `json:"checks"`
	// Decidable holds the names of the causes that the probe can distinguish here, in the
	// order of precedence. Causes says how it does so for each, or what it needs.
	Decidable []string `json:"decidable_causes"`
	Causes    []Cause  `json:"causes"`
}

// Run examines this machine. The error is [ErrTarget], or
// errors.ErrUnsupported elsewhere than on Linux.
func Run(o Options) (*Report, error) {
	live, err := newLive()
	if err != nil {
		return nil, fmt.Errorf("examine machine: %w", err)
	}
	return run(root{os.DirFS("/")}, runtime.GOARCH, live, o)
}

func run(r root, arch string, live live, o Options) (*Report, error) {
	if p := o.Probe; p != nil {
		o.Mode, o.SelfTest = p.Mode(), -1
		if cpu := p.CPU(); cpu >= 0 {
			o.CPU = &cpu
		}
	}
	m, err := newMachine(r, arch, live, o)
	if err != nil {
		return nil, err
	}
	report := &Report{Schema: Schema, Mode: m.mode.String(), Target: m.target, Decidable: []string{}, Causes: []Cause{}}
	if m.cpu >= 0 {
		report.CPU = &m.cpu
	}
	target := targetChecks
	if m.target == 0 {
		target = noTargetChecks
	}
	if o.TargetOnly {
		report.Checks = m.appendChecks(nil, target)
		return report, nil
	}
	m.before = m.count()
	tested := m.testSelf(o)
	m.after = m.count()
	if o.SelfTest < 0 && o.Probe == nil {
		if m.limits, err = m.live.limits(jitterprobe.Options{Mode: o.Mode, CPU: o.CPU, Interrupts: true}); err != nil {
			m.limits = noProbe(err)
		}
	}
	for _, checks := range [][]check{
		cpuChecks, kernelChecks, powerChecks, memoryChecks, housekeepingChecks, loadChecks, rightsChecks, target, tested,
	} {
		report.Checks = m.appendChecks(report.Checks, checks)
	}
	report.addCauses(m)
	return report, nil
}

// Features returns what this process may use of the kernel: the checks of its rights,
// without a probe. The error is errors.ErrUnsupported elsewhere than on Linux.
func Features() ([]Check, error) {
	live, err := newLive()
	if err != nil {
		return nil, fmt.Errorf("examine machine: %w", err)
	}
	m, err := newMachine(root{os.DirFS("/")}, runtime.GOARCH, live, Options{})
	if err != nil {
		return nil, err
	}
	return m.appendChecks(nil, rightsChecks), nil
}

// Failed returns the names of the checks that failed: the numbers cannot be
// believed then.
func (r *Report) Failed() []string {
	var ids []string
	for _, c := range r.Checks {
		if c.Status == Fail {
			ids = append(ids, c.ID)
		}
	}
	return ids
}
