package otelgc

import (
	"cmp"
	"slices"

	"github.com/otelgc/otelgc/internal/gotrace"
	"github.com/otelgc/otelgc/stall"
)

// nested is how many goroutines that are followed a coroutine stands in for at
// once: one that pulls from it, and one that pulls from that one, and so on.
const nested = 4

// whose returns the places of the tracks that have what a goroutine did at a time:
// its own, and those of the goroutines that it stood in for as a coroutine. The
// list is valid until the next call.
func (c *generation) whose(turns []gotrace.Turn, goroutine uint64, at stall.Instant) []int {
	c.found = c.found[:0]
	if i, ok := c.trackOf(goroutine); ok {
		c.found = append(c.found, i)
	}
	if len(turns) == 0 {
		return c.found
	}
	end, _ := slices.BinarySearchFunc(turns, at+1, func(t gotrace.Turn, at stall.Instant) int {
		return cmp.Or(cmp.Compare(t.Coroutine, goroutine), cmp.Compare(t.Start, at))
	})
	for _, t := range turns[max(end-nested, 0):end] {
		if t.Coroutine != goroutine || at > t.End {
			continue
		}
		if i, ok := c.trackOf(t.For); ok {
			c.found = append(c.found, i)
		}
	}
	return c.found
}
