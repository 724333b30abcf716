package jitterprobe

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/ring"
	"github.com/otelgc/otelgc/stall"
)

// Defaults of Options.
const (
	DefaultThreshold         = time.Microsecond
	DefaultPeriodicThreshold = 100 * time.Microsecond // wake-ups are tens of microseconds late on an idle machine
	DefaultPeriod            = time.Millisecond
	DefaultRing              = 1 << 16
)

// Bounds of Options.
const (
	MinPeriod = 50 * time.Microsecond
	MaxPeriod = 10 * time.Second
	MaxRing   = ring.MaxLen
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
	// Period is the time between two wake-ups of Periodic. Zero is
	// DefaultPeriod; the bounds are MinPeriod and MaxPeriod.
	Period time.Duration
	// Ring is how many gaps are kept between two drains, 100 ms apart. Zero is
	// DefaultRing; at most MaxRing. It is rounded up to a power of two.
	Ring int
	// Clock is the clock of the gaps. The zero Clock means a new one.
	Clock stall.Clock
	// Force spins even where a spinner harms the service: on the only CPU, or
	// under a cgroup quota that the spinner uses up.
	Force bool
	// Interrupts has the kernel record each interrupt of the CPU that a spinning
	// mode watches: without, host.irq cannot be told from host.steal. It needs
	// CAP_PERFMON and tracefs, makes each interrupt about a microsecond longer,
	// and has Stop wait for the kernel for up to a second.
	Interrupts bool
}

// withDefaults fills in what is zero and refuses what is out of bounds.
// Threshold stays zero: its default depends on the mode that will run.
func (o Options) withDefaults() (Options, error) {
	if o.Mode >= numModes {
		return o, fmt.Errorf("start probe: mode %d is not known", o.Mode)
	}
	if o.Threshold < 0 {
		return o, fmt.Errorf("start probe: threshold %v is negative", o.Threshold)
	}
	if o.Period == 0 {
		o.Period = DefaultPeriod
	}
	if o.Period < MinPeriod || o.Period > MaxPeriod {
		return o, fmt.Errorf("start probe: period %v is not within %v and %v", o.Period, MinPeriod, MaxPeriod)
	}
	if o.Ring == 0 {
		o.Ring = DefaultRing
	}
	if o.Ring < 0 || o.Ring > MaxRing {
		return o, fmt.Errorf("start probe: ring of %d gaps is not within 1 and %d", o.Ring, MaxRing)
	}
	if o.Clock == (stall.Clock{}) {
		clock, err := stall.NewClock()
		if err != nil {
			return o, fmt.Errorf("start probe: %w", err)
		}
		o.Clock = clock
	}
	return o, nil
}

// withThreshold fills in the threshold of the mode that runs.
func (o Options) withThreshold(d time.Duration) Options {
	if o.Threshold == 0 {
		o.Threshold = d
	}
	return o
}
