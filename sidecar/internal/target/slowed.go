package target

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// Slowed counts the collections that the machine made pause long.
type Slowed struct {
	StolenCPU uint64 `json:"stolen_cpu"`
	Paging    uint64 `json:"paging"`
	// Longest says of the one that paused longest what took the time.
	Longest string `json:"longest"`

	paused time.Duration // of the longest
}

func (s *Slowed) add(c *gc.Collection) {
	switch c.SlowedBy {
	case gc.StolenCPU:
		s.StolenCPU++
	case gc.Paging:
		s.Paging++
	default:
		return
	}
	if d := c.PauseTotal(); d > s.paused {
		s.paused, s.Longest = d, fmt.Sprintf("collection %d: %s", c.Index, c.Slowed())
	}
}

// String says it in one line, empty if there are none.
func (s *Slowed) String() string {
	if s.StolenCPU+s.Paging == 0 {
		return ""
	}
	return fmt.Sprintf("%d by stolen CPU, %d by paging; longest: %s", s.StolenCPU, s.Paging, s.Longest)
}
