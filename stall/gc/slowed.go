package gc

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// SlowedBy says what the machine made the pauses of a collection long by. A collection
// is slowed if its pauses take at least twice the usual for its work, and the machine
// took for certain at least half of what they take more than that.
type SlowedBy uint8

const (
	NotSlowed SlowedBy = iota // not long for the work, or nothing proves that it was the machine
	StolenCPU                 // threads were ready to run, and had no CPU
	Paging                    // a thread waited for a page from disk
	numSlowedBy
)

var slowedNames = [numSlowedBy]string{"none", "stolen_cpu", "paging"}

// String returns the name of s in the telemetry contract.
func (s SlowedBy) String() string {
	if s < numSlowedBy {
		return slowedNames[s]
	}
	return fmt.Sprintf("slowed_by(%d)", uint8(s))
}

// MarshalText encodes s by its name.
func (s SlowedBy) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText decodes a name.
func (s *SlowedBy) UnmarshalText(name []byte) error {
	return parseName(s, "slowed by", slowedNames[:], name)
}

// Slowed says in words what made the pauses of c long, such as
//
//	stolen CPU: paused 48.2 ms, 12 times the usual for its work, 44.1 ms of it without a CPU
//
// It is empty where [Collection.SlowedBy] is NotSlowed.
func (c *Collection) Slowed() string {
	cpu, page := c.HostTook()
	what, part, without := "stolen CPU", cpu, "without a CPU"
	switch c.SlowedBy {
	case StolenCPU:
	case Paging:
		what, part, without = "paging", page, "waiting for pages from disk"
	default:
		return ""
	}
	paused := c.PauseTotal()
	text := what + ": paused " + stall.Humane(paused)
	if usual := c.UsualPause.Or(0); usual > 0 {
		text += fmt.Sprintf(", %.2g times the usual for its work", min(99, float64(paused)/float64(usual)))
	}
	return text + ", " + stall.Humane(part) + " of it " + without
}

// HostTook returns what the machine took of the pauses of c for certain: time in which
// threads had no CPU, and in which they waited for pages from disk.
func (c *Collection) HostTook() (cpu, page time.Duration) {
	for i := range c.Pauses {
		cpu += c.Pauses[i].HostDuring.CPUWait.Or(0)
		page += c.Pauses[i].HostDuring.PageWait.Or(0)
	}
	return cpu, page
}
