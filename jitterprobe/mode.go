package jitterprobe

import (
	"fmt"

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
