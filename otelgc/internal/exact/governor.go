package exact

import (
	"time"

	"github.com/otelgc/otelgc/internal/gotrace"
)

const (
	// budgetFloor of one CPU is allowed however little the process uses.
	budgetFloor = 0.005

	shortestSlice = 3 * time.Second
	longestSlice  = 30 * time.Second
	shortestRest  = 50 * time.Millisecond
	longestRest   = 10 * time.Minute

	// timePerBudget is the share of the time that the tracer may be ours, for each
	// part of the budget: a tenth of the time at 1 %. The tracer has one user, and a
	// cheap service would be traced most of the time otherwise: a profiler beside us
	// would hardly ever get it.
	timePerBudget = 10
	// leastShare of the time may be ours for any budget above zero: three seconds in
	// five minutes, or thirty in fifty where windows are that long.
	leastShare = 0.01

	// eventPerLog is the price of an event of the trace by that of a user log of the
	// calibration, which runs in a loop with all that it needs in the cache; in a
	// service nothing is, and the decoder evicts the service's own.
	eventPerLog = 2.5

	// worstStart is the part of time that starting the tracer may stop the
	// world: a start of 1 ms is paid for by 1 s.
	worstStart = 0.001
)

// sliceCost is what was measured of a slice.
type sliceCost struct {
	traced      time.Duration // wall time in which the tracer was ours; 0 if it was not to be had
	events      int64
	generations int64
	goroutines  int64         // status events, summed over the generations
	decode      time.Duration // our own work on it
	join        time.Duration // of windows that were followed, since the last slice
	start, stop time.Duration // of trace.Start and trace.Stop, wall: upper bounds
}

// governor keeps exact tracing within its budget. It is an account: time and
// the process's CPU time pay in, slices are charged when they are over, and the
// next slice may begin when the account is not overdrawn. So the first slice
// measures, and what follows is in proportion.
type governor struct {
	budget     float64
	eventPrice time.Duration
	balance    time.Duration // at most zero
	length     time.Duration // of the last slice
	resting    time.Duration // after the last slice; zero before the first
}

func newGovernor(budget float64) governor {
	return governor{budget: budget, eventPrice: gotrace.EventPrice, length: shortestSlice}
}

// calibrate sets the price of an event by that of a user log, as measured here.
func (g *governor) calibrate(log time.Duration) {
	price := time.Duration(float64(log) * eventPerLog)
	g.eventPrice = min(max(price, 50*time.Nanosecond), 2*time.Microsecond)
}

// earn pays in what wall time and the process's CPU time allow. What is not
// used does not pile up: a quiet hour buys no minute of tracing.
func (g *governor) earn(wall, cpu time.Duration) {
	g.balance = min(0, g.balance+time.Duration(g.rate(wall, cpu)*float64(wall)))
}

// rate returns the CPUs that tracing may use.
func (g *governor) rate(wall, cpu time.Duration) float64 {
	if wall <= 0 {
		return 0
	}
	return max(budgetFloor, g.budget*float64(cpu)/float64(wall))
}

// price returns what a slice cost.
func (g *governor) price(c sliceCost) time.Duration {
	return time.Duration(c.events)*g.eventPrice +
		time.Duration(c.generations)*gotrace.GenerationPrice +
		time.Duration(c.goroutines)*gotrace.GoroutinePrice +
		c.decode + c.join + c.start + c.stopPrice()
}

// stopPrice returns what trace.Stop cost. It ends a generation and visits each
// goroutine; the rest of the time that it took it waited for a CPU, and longest
// where the program is busiest.
func (c *sliceCost) stopPrice() time.Duration {
	work := gotrace.GenerationPrice
	if c.generations > 0 {
		work += time.Duration(c.goroutines/c.generations) * gotrace.GoroutinePrice
	}
	return min(c.stop, work)
}

// charge takes what a slice cost out of the account.
func (g *governor) charge(c sliceCost) { g.balance -= g.price(c) }

// rest returns how long to stay off, if the process goes on using cpu in wall.
func (g *governor) rest(c sliceCost, wall, cpu time.Duration) time.Duration {
	if g.budget >= 1 {
		g.balance, g.resting = 0, shortestRest
		return shortestRest
	}
	rest := time.Duration(float64(c.start) / worstStart)
	if g.balance < 0 {
		if r := g.rate(wall, cpu); r > 0 {
			rest = max(rest, time.Duration(float64(-g.balance)/r))
		}
	}
	g.resting = max(min(max(rest, shortestRest), longestRest), g.leave(c.traced))
	return g.resting
}

// leave returns how long others may have the tracer, after it was ours for traced. What
// was traced beyond the plan is not counted: another reader asked for it.
func (g *governor) leave(traced time.Duration) time.Duration {
	share := min(max(timePerBudget*g.budget, leastShare), 1)
	return time.Duration(float64(min(traced, g.length)) * (1/share - 1))
}

// overdrawn reports whether what was spent is not paid for yet.
func (g *governor) overdrawn() bool { return g.budget < 1 && g.balance < 0 }

// plan returns the length of the next slice: at least ten times what nearly all
// windows take, and longer the less there was to rest after the last one. The
// first, of which the price is not known, is short.
func (g *governor) plan(windows time.Duration) time.Duration {
	switch {
	case g.budget >= 1:
		g.length = longestSlice
	case g.resting == 0:
	case g.resting < g.length:
		g.length *= 2
	case g.resting > 4*g.length:
		g.length /= 2
	}
	g.length = min(max(g.length, shortestSlice, 10*windows), longestSlice)
	return g.length
}
