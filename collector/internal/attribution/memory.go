package attribution

import (
	"time"

	"github.com/otelgc/otelgc/stall"
)

// memory lends room to the lists of what is known, as they come to need it.
//
// A list begins small and grows to its limit. While there is plenty it keeps
// what it can; then only what a span that waits, or is yet to come, may want. So
// a fleet of quiet processes needs little, and a few may know of hours.
type memory struct {
	*account
	lost *lost
	wait stall.Instant // how far back a span that waits wants to know
	back stall.Instant // how far back one that is yet to come may
}

// lookBack is how far back a span that comes in time may want to know: so long
// it was, and so late it came.
const lookBack = 2 * time.Minute

// crowded counts a stall that a span that waits may want and that found no room.
func (m *memory) crowded() { m.lost.events[errRoom.Error()]++ }
