package gotrace

import "time"

// Prices of a trace for the program that is traced, measured with Go 1.26. An event is
// mostly the unwinding of a stack, of 160 to 250 ns. Each generation has a fixed part, and
// one for each goroutine that did nothing, which still gets its status written. A byte is
// copied to whom it is for, by a system call.
const (
	EventPrice      = 250 * time.Nanosecond
	GenerationPrice = 2500 * time.Microsecond
	GoroutinePrice  = 1 * time.Microsecond
	bytePrice       = 2 * time.Nanosecond
)

// Cost counts what a trace cost the program that was traced. Bytes are those that were
// sent to another process.
type Cost struct {
	Events, Generations, Goroutines, Bytes int64
}

// Add counts a generation.
func (c *Cost) Add(g *Generation) {
	c.Events += g.Events
	c.Generations++
	c.Goroutines += int64(g.Goroutines)
}

// Price returns the CPU time that it took. A trace has one generation at least.
func (c Cost) Price() time.Duration {
	return time.Duration(c.Events)*EventPrice + time.Duration(max(1, c.Generations))*GenerationPrice +
		time.Duration(c.Goroutines)*GoroutinePrice + time.Duration(c.Bytes)*bytePrice
}
