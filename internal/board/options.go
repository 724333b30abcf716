package board

import (
	"fmt"
	"math/bits"
	"os"

	"github.com/otelgc/otelgc/stall"
)

// WriterOptions configure a writer. Paths and Source must be set.
type WriterOptions struct {
	// Paths are where the board may be, such as [Paths]: it is made in the first
	// place where this user may make it.
	Paths []string
	// Slots is the number of records in the ring, rounded up to a power of two.
	// Zero is DefaultSlots; the bounds are MinSlots and MaxSlots.
	Slots int
	// Clock is the clock of the intervals. The zero Clock means a new one. It
	// must be shared between processes.
	Clock stall.Clock
	// Source says what probes, CPUs which ones.
	Source stall.Origin
	CPUs   []int
	// Since is where the probe's sight begins. Zero means now.
	Since stall.Instant
}

func newHeader(o WriterOptions) (header, error) {
	if o.Source == stall.NoOrigin || o.Source >= stall.NumOrigins {
		return header{}, fmt.Errorf("source %v cannot be the source of a board", o.Source)
	}
	if o.Slots == 0 {
		o.Slots = DefaultSlots
	}
	if o.Slots < MinSlots || o.Slots > MaxSlots {
		return header{}, fmt.Errorf("%d records are not within %d and %d", o.Slots, MinSlots, MaxSlots)
	}
	for _, cpu := range o.CPUs {
		if cpu < 0 || cpu >= MaxCPUs {
			return header{}, fmt.Errorf("cpu %d is not within 0 and %d", cpu, MaxCPUs-1)
		}
	}
	boot, err := stall.BootID()
	if err != nil {
		return header{}, err
	}
	if o.Clock == (stall.Clock{}) {
		if o.Clock, err = stall.NewClock(); err != nil {
			return header{}, err
		}
	}
	if !o.Clock.Shared() {
		return header{}, fmt.Errorf("clock: %w between processes", stall.ErrNotSupported)
	}
	now := o.Clock.Now()
	if o.Since == 0 {
		o.Since = now
	}
	return header{
		slots:      1 << bits.Len(uint(o.Slots-1)),
		generation: uint64(now),
		bootID:     boot,
		pid:        int32(os.Getpid()),
		created:    processCreated(),
		since:      o.Since,
		source:     o.Source,
		cpus:       o.CPUs,
	}, nil
}
