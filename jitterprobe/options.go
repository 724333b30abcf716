package jitterprobe

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Mode says how a probe looks.
type Mode uint8

const (
	Auto     Mode = iota // Spin where it is possible, else Periodic
	Spin                 // a raw thread on one CPU: the machine
	Runtime              // a goroutine in syscall state: the machine and this runtime
	Periodic             // timed wake-ups
	numModes
)

var modeNames = [numModes]string{"auto", "spin", "runtime", "periodic"}

// String returns "auto", "spin", "runtime" or "periodic".
func (m Mode) String() string {
	if m < numModes {
		return modeNames[m]
	}
	return fmt.Sprintf("mode(%d)", uint8(m))
}

// ParseMode returns the mode that s names.
func ParseMode(s string) (Mode, error) {
	for m, name := range modeNames {
		if name == s {
			return Mode(m), nil
		}
	}
	return Auto, fmt.Errorf("parse probe mode %q: want auto, spin, runtime or periodic", s)
}

// Source returns the name of the mode among the sources of intervals.
func (m Mode) Source() stall.Origin {
	switch m {
	case Spin:
		return stall.ProbeSpin
	case Runtime:
		return stall.ProbeRuntime
	case Periodic:
		return stall.ProbePeriodic
	}
	return stall.NoOrigin
}

// The thresholds of a probe for which none is set.
const (
	DefaultThreshold         = time.Microsecond
	DefaultPeriodicThreshold = 100 * time.Microsecond // wake-ups are tens of microseconds late on an idle machine
)

const (
	period  = time.Millisecond // between two wake-ups of Periodic
	ringLen = 1 << 16          // gaps that are kept between two drains
)

// Options configure a probe. The zero value is a good probe.
type Options struct {
	// Mode is what to run. A mode that cannot run here degrades to Periodic,
	// see Probe.Mode and Probe.Note.
	Mode Mode
	// CPU is the logical number of the CPU to run on. Nil is the last one that
	// this thread may run on: the first ones take most interrupts.
	CPU *int
	// Threshold is the shortest gap that is recorded; with Periodic, the least
	// lateness. Zero is DefaultThreshold or DefaultPeriodicThreshold. Where
	// there is no precise sleep, Periodic raises it to what it can tell.
	Threshold time.Duration
	// Clock is the clock of the gaps. The zero Clock means a new one.
	Clock stall.Clock
	// Force spins even where a spinner harms the service: on the only CPU, or
	// under a cgroup quota that the spinner uses up.
	Force bool
	// Interrupts has the kernel record each interrupt of the CPU that a spinning
	// mode watches: without, host.irq cannot be distinguished from host.steal. It needs
	// CAP_PERFMON and tracefs, makes each interrupt about a microsecond longer,
	// and has Stop wait for the kernel for up to a second.
	Interrupts bool
}

// withDefaults fills in the clock and refuses what is out of bounds.
// Threshold stays zero: its default depends on the mode that will run.
func (o Options) withDefaults() (_ Options, err error) {
	switch {
	case o.Mode >= numModes:
		return o, fmt.Errorf("start probe: mode %d is not known", o.Mode)
	case o.Threshold < 0:
		return o, fmt.Errorf("start probe: threshold %v is negative", o.Threshold)
	case o.Clock == (stall.Clock{}):
		if o.Clock, err = stall.NewClock(); err != nil {
			return o, fmt.Errorf("start probe: %w", err)
		}
	}
	return o, nil
}
