package recording

import (
	"cmp"
	"fmt"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
)

// check refuses times that cannot be, of what is not binary: sums of them would
// overflow, or a stop be shorter than nothing.
func check(r Record) error {
	switch v := r.(type) {
	case Environment:
		return instants(v.At)
	case Target:
		return instants(v.At)
	case Probe:
		return cmp.Or(instants(v.At), lengths(v.Floor))
	case Collection:
		return v.check()
	case Suspension:
		return cmp.Or(span(v.Start, v.End), span(v.Start, cmp.Or(v.EndMax, v.End)))
	case Status:
		return cmp.Or(instants(v.At, v.Watermark), lengths(v.DroppedTime, v.Unseen))
	case Host:
		p := v.CgroupPressure.Or(hostcount.Pressure{})
		return cmp.Or(instants(v.At), lengths(v.RunDelay, v.Denied, v.Paged, v.Undecided, v.Covered, v.Throttled.Or(0), v.Stolen,
			v.Pressure, v.PressureMemory, v.PressureIO, p.CPU, p.Memory, p.IO))
	case End:
		return instants(v.At)
	}
	return nil
}

// check refuses what gcjson does not: it knows the places of pauses.
func (c *Collection) check() error {
	err := instants(c.GC.End.Or(0), c.GC.UtilizationSince.Or(0))
	for _, p := range c.GC.Pauses {
		err = cmp.Or(err, lengths(p.Suspend.Or(0)))
	}
	return err
}

func instants(list ...stall.Instant) error {
	for _, at := range list {
		if at < 0 || at > maxInstant {
			return fmt.Errorf("%w: an instant of %d ns, want 0 to %d", ErrFormat, at, int64(maxInstant))
		}
	}
	return nil
}

func lengths(list ...time.Duration) error {
	for _, d := range list {
		if d < 0 || d > maxInstant {
			return fmt.Errorf("%w: a time of %d ns, want 0 to %d", ErrFormat, d, int64(maxInstant))
		}
	}
	return nil
}

func span(start, end stall.Instant) error {
	if end < start {
		return fmt.Errorf("%w: a stop from %d to %d", ErrFormat, start, end)
	}
	return instants(start, end)
}
