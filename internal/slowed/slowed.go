// Package slowed finds the collections that the machine made pause long, as far as that
// is certain, and counts them.
package slowed

import (
	"fmt"
	"time"

	"github.com/otelgc/otelgc/stall/gc"
)

// Tally counts the collections that the machine made pause long, by what.
type Tally struct {
	StolenCPU uint64 `json:"stolen_cpu"`
	Paging    uint64 `json:"paging"`
	// Longest says which one paused longest, and what took the time.
	Longest string `json:"longest"`

	paused time.Duration // of the longest
}

// Add takes c in.
func (t *Tally) Add(c *gc.Collection) {
	switch c.SlowedBy {
	case gc.StolenCPU:
		t.StolenCPU++
	case gc.Paging:
		t.Paging++
	default:
		return
	}
	if d := c.PauseTotal(); d > t.paused {
		t.paused, t.Longest = d, fmt.Sprintf("collection %d: %s", c.Index, c.Slowed())
	}
}

// String says it in one line, empty if there are none.
func (t *Tally) String() string {
	if t.StolenCPU+t.Paging == 0 {
		return ""
	}
	return fmt.Sprintf("%d by stolen CPU, %d by paging; of them paused longest: %s", t.StolenCPU, t.Paging, t.Longest)
}
