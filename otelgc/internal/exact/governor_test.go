package exact

import (
	"testing"
	"time"
)

// service is a process as the governor sees it.
type service struct {
	cpu        float64 // CPUs in use
	events     int64   // a second, while it is traced
	goroutines int64
	start      time.Duration
	windows    time.Duration
}

func (s service) slice(length time.Duration) sliceCost {
	seconds := int64((length + time.Second - 1) / time.Second)
	return sliceCost{
		traced:      length,
		events:      int64(float64(s.events) * length.Seconds()),
		generations: seconds, goroutines: s.goroutines * seconds,
		decode: time.Duration(float64(s.events) * length.Seconds() * 10),
		start:  s.start, stop: time.Duration(s.goroutines) * 600,
	}
}

// run has the governor trace a service for total, as exact.run does, and
// returns what it cost by the governor's own prices, and the time that was
// traced.
func (s service) run(g *governor, total time.Duration) (cost, traced time.Duration, slices []time.Duration) {
	for now := time.Duration(0); now < total; {
		if g.overdrawn() {
			now += beat
			g.earn(beat, time.Duration(s.cpu*float64(beat)))
			continue
		}
		length := g.plan(s.windows)
		slices = append(slices, length)
		c := s.slice(length)
		now, traced = now+length, traced+length
		cost += g.price(c)
		g.charge(c)
		cpu := time.Duration(s.cpu * float64(length))
		g.earn(length, cpu)
		rest := g.rest(c, length, cpu)
		now += rest
		g.earn(rest, time.Duration(s.cpu*float64(rest)))
	}
	return cost, traced, slices
}

func TestGovernorKeepsItsBudgetInTheLongRun(t *testing.T) {
	const day = 24 * time.Hour
	for name, s := range map[string]service{
		"quiet":              {cpu: 0.01, events: 500, goroutines: 20, start: 50 * time.Microsecond, windows: time.Millisecond},
		"busy":               {cpu: 0.5, events: 100_000, goroutines: 200, start: 100 * time.Microsecond, windows: 20 * time.Millisecond},
		"saturated":          {cpu: 1, events: 300_000, goroutines: 500, start: time.Millisecond, windows: 50 * time.Millisecond},
		"100,000 goroutines": {cpu: 0.2, events: 2_000, goroutines: 100_000, start: 5 * time.Millisecond, windows: time.Second},
		"long windows":       {cpu: 0.3, events: 30_000, goroutines: 1_000, start: 100 * time.Microsecond, windows: 10 * time.Minute},
	} {
		for _, budget := range []float64{0.001, 0.01, 0.1} {
			g := newGovernor(budget)
			cost, traced, slices := s.run(&g, day)
			allowed := max(budgetFloor, budget*s.cpu)
			if got := cost.Seconds() / day.Seconds(); got > 1.05*allowed {
				t.Errorf("%s, budget %v: cost %.5f CPUs, allowed are %.5f", name, budget, got, allowed)
			}
			if traced == 0 {
				t.Errorf("%s, budget %v: nothing was traced", name, budget)
			}
			for _, d := range slices {
				if d < shortestSlice || d > longestSlice {
					t.Errorf("%s, budget %v: a slice of %v", name, budget, d)
				}
			}
			t.Logf("%s, budget %v: %.5f of %.5f CPUs, %.1f %% traced, %d slices", name, budget,
				cost.Seconds()/day.Seconds(), allowed, 100*traced.Seconds()/day.Seconds(), len(slices))
		}
	}
}

// TestGovernorLeavesTheTracerToOthers: however little tracing costs, it takes no more
// than a small share of the time.
func TestGovernorLeavesTheTracerToOthers(t *testing.T) {
	idle := service{cpu: 0.001, events: 50, goroutines: 10, start: 20 * time.Microsecond}
	for _, windows := range []time.Duration{time.Millisecond, time.Second, time.Minute} {
		idle.windows = windows
		for budget, most := range map[float64]float64{0.001: 0.01, 0.01: 0.1, 0.05: 0.5} {
			g := newGovernor(budget)
			const total = 7 * 24 * time.Hour
			_, traced, _ := idle.run(&g, total)
			if share := traced.Seconds() / total.Seconds(); share > 1.01*most || share < 0.9*most {
				t.Errorf("windows of %v, budget %v: traced %.2f %% of the time, want %v %%", windows, budget, 100*share, 100*most)
			}
		}
	}
	// Somebody else had the tracer: nothing is owed for that.
	g := newGovernor(0.01)
	if got := g.rest(sliceCost{}, time.Second, 0); got != shortestRest {
		t.Errorf("rest after a slice that did not begin: got %v, want %v", got, shortestRest)
	}
}

// TestGovernorRestsNoLongerThanItHasTo: a budget that is next to nothing, a trace that
// somebody asked for, and windows that last keep a service from exact fidelity for so
// long and no longer.
func TestGovernorRestsNoLongerThanItHasTo(t *testing.T) {
	for name, c := range map[string]struct {
		budget          float64
		windows, traced time.Duration
		want            time.Duration
	}{
		"the default":                {0.01, 0, 3 * time.Second, 27 * time.Second},
		"the default, long windows":  {0.01, time.Minute, 30 * time.Second, 270 * time.Second},
		"five minutes were asked":    {0.01, 0, 5 * time.Minute, 27 * time.Second},
		"a slice that was cut short": {0.01, 0, time.Second, 9 * time.Second},
		"next to nothing":            {1e-12, 0, 3 * time.Second, 297 * time.Second},
		"and long windows":           {1e-12, time.Minute, 30 * time.Second, 2970 * time.Second},
		"a tenth":                    {0.1, 0, 3 * time.Second, shortestRest},
	} {
		g := newGovernor(c.budget)
		g.plan(c.windows)
		got := g.rest(sliceCost{traced: c.traced}, time.Second, time.Second)
		if off := got - c.want; off.Abs() > time.Millisecond {
			t.Errorf("%s: rest %v, want %v", name, got, c.want)
		}
	}
}

// TestGovernorUsesItsBudget: it keeps off no longer than it has to.
func TestGovernorUsesItsBudget(t *testing.T) {
	s := service{cpu: 1, events: 300_000, goroutines: 500, windows: time.Millisecond}
	g := newGovernor(0.01)
	cost, _, _ := s.run(&g, 24*time.Hour)
	if got := cost.Seconds() / (24 * time.Hour).Seconds(); got < 0.8*0.01 {
		t.Errorf("cost %.5f CPUs of %v allowed: most of the budget is not used", got, 0.01)
	}
}

func TestGovernorAtBudgetOneNeverRestsLong(t *testing.T) {
	s := service{cpu: 1, events: 300_000, goroutines: 100_000, start: 50 * time.Millisecond}
	g := newGovernor(1)
	const total = time.Hour
	_, traced, _ := s.run(&g, total)
	if off := 1 - traced.Seconds()/total.Seconds(); off > 0.02 {
		t.Errorf("%.2f %% of the time is not traced, want at most 2 %%", 100*off)
	}
	if got := g.rest(sliceCost{start: time.Hour}, time.Second, time.Second); got <= 0 {
		t.Errorf("rest %v: others could never have the tracer", got)
	}
}

// TestGovernorFirstSliceIsShort: what it costs is not known before it.
func TestGovernorFirstSliceIsShort(t *testing.T) {
	g := newGovernor(0.01)
	if got := g.plan(time.Millisecond); got != shortestSlice {
		t.Errorf("first slice: got %v, want %v", got, shortestSlice)
	}
	cheap := newGovernor(0.9)
	length := cheap.plan(0)
	for range 10 {
		cheap.charge(sliceCost{})
		cheap.rest(sliceCost{}, length, length)
		length = cheap.plan(0)
	}
	if length != longestSlice {
		t.Errorf("a cheap slice with hardly any rest: got %v, want it to grow to %v", length, longestSlice)
	}
	windows := newGovernor(0.01)
	if got, want := windows.plan(2*time.Second), 20*time.Second; got != want {
		t.Errorf("windows of 2 s: got %v, want ten times as much, %v", got, want)
	}
}

func TestGovernorSavesNothingUp(t *testing.T) {
	g := newGovernor(0.01)
	g.earn(24*time.Hour, 24*time.Hour)
	g.charge(sliceCost{decode: time.Second})
	if !g.overdrawn() {
		t.Error("a quiet day bought a slice")
	}
}

// TestGovernorHasNoDebtOfSpoiltClocks: no CPU time is known, or none has passed.
func TestGovernorHasNoDebtOfSpoiltClocks(t *testing.T) {
	g := newGovernor(0.01)
	g.earn(0, 0)
	g.charge(sliceCost{decode: time.Millisecond})
	if got := g.rest(sliceCost{}, 0, 0); got < shortestRest || got > longestRest {
		t.Errorf("rest after no time: got %v", got)
	}
	g.earn(time.Second, 0)
	if g.overdrawn() {
		t.Error("1 ms of debt is not paid by a second at the floor of 5 ms a second")
	}
	g.calibrate(0)
	if g.eventPrice <= 0 {
		t.Errorf("price of an event: got %v", g.eventPrice)
	}
	g.calibrate(time.Hour)
	if g.eventPrice > 2*time.Microsecond {
		t.Errorf("price of an event after a log that lost its CPU: got %v", g.eventPrice)
	}
}
