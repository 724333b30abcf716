// Package pauses compares exact pauses with the runtime's own.
package pauses

import (
	"context"
	"flag"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sort"
	"sync"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Experiment compares exact fidelity's account of each garbage collection of this
// process with the runtime's own.
func Experiment() harness.Experiment {
	return harness.Experiment{Name: "pauses", Title: "Exact pauses against the runtime's own", Answer: "Are exact pauses as long as the runtime says?", Measurement: new(experiment)}
}

// lookEvery is short enough for the ring of 256 cycles in which the runtime
// keeps its pauses.
const lookEvery = 200 * time.Millisecond

// experiment is what the flags say.
type experiment struct {
	cycles int
	limit  time.Duration
	live   int
}

func (e *experiment) Flags(f *flag.FlagSet) {
	f.IntVar(&e.cycles, "cycles", 1500, "collections to compare, of each load")
	f.DurationVar(&e.limit, "limit", 10*time.Minute, "longest time to spend on a load")
	f.IntVar(&e.live, "live", 8, "long-lived heap, in `MB`")
}

func (e *experiment) Measure(ctx context.Context, p *harness.Page) error {
	clock, err := stall.NewClock()
	if err != nil {
		return err
	}
	var tallies []*tally
	err = harness.Monitored(func(m *otelgc.Monitor) error {
		for _, l := range loads {
			t, err := e.compare(ctx, m, clock, l)
			if err != nil {
				return fmt.Errorf("%s: %w", l.name, err)
			}
			p.Logf("%s: %d collections, %d compared", t.name, t.seen, len(t.excess))
			tallies = append(tallies, t)
		}
		return nil
	})
	if err != nil {
		return err
	}
	write(p, e, tallies)
	return nil
}

// compare runs a load until enough collections of it have been compared.
func (e *experiment) compare(ctx context.Context, m *otelgc.Monitor, clock stall.Clock, l load) (*tally, error) {
	if err := m.Flush(ctx); err != nil {
		return nil, err
	}
	t := newTally(l.name, clock, m)
	stop := l.start(e.live)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for begin := time.Now(); len(t.excess) < e.cycles && time.Since(begin) < e.limit; {
		select {
		case <-tick.C:
			t.look()
		case <-ctx.Done():
			stop()
			return nil, ctx.Err()
		}
	}
	stop()
	return t, nil
}

// load is a way to make garbage.
type load struct {
	name    string
	procs   int // Ps; zero leaves them as they are
	workers func() int
	rest    time.Duration // of a worker, after each burst
}

var loads = []load{
	{"light: one goroutine, mostly asleep", 0, func() int { return 1 }, time.Millisecond},
	{"full: one goroutine per P, never asleep", 0, func() int { return runtime.GOMAXPROCS(0) }, 0},
	{"full, on one P", 1, func() int { return 1 }, 0},
}

type node struct {
	next *node
	_    [56]byte
}

// burst is how many nodes a worker makes at a time: 256 kB.
const burst = 4096

// start makes garbage, and keeps live MB of it, until stop is called.
func (l load) start(live int) (stop func()) {
	procs := runtime.GOMAXPROCS(l.procs) // zero changes nothing
	quit := make(chan struct{})
	var wg sync.WaitGroup
	kept := make([]*node, live<<20/(burst*64))
	for i := range kept {
		kept[i] = chain()
	}
	for range l.workers() {
		wg.Go(func() { l.work(quit) })
	}
	return func() {
		close(quit)
		wg.Wait()
		runtime.GOMAXPROCS(procs)
		runtime.KeepAlive(kept)
	}
}

func (l load) work(quit <-chan struct{}) {
	var last *node
	for {
		select {
		case <-quit:
			runtime.KeepAlive(last)
			return
		default:
		}
		last = chain()
		if l.rest > 0 {
			time.Sleep(l.rest)
		}
	}
}

func chain() *node {
	var head *node
	for range burst {
		head = &node{next: head}
	}
	return head
}

// matchSlack is how far outside of a collection's last pause the runtime's end
// of it may lie, which is a wall time.
const matchSlack = 100 * time.Microsecond

// runtimeCycle is one collection as the runtime reports it.
type runtimeCycle struct {
	index uint64
	pause time.Duration
	end   stall.Instant
}

// tally compares the collections of one load.
type tally struct {
	name    string
	clock   stall.Clock
	monitor *otelgc.Monitor
	stats   debug.GCStats
	runtime []runtimeCycle // in order
	numGC   int64
	after   uint64 // index of the last collection that was looked at

	seen, unmatched, renumbered int
	lost                        int64     // cycles that the runtime's ring had forgotten
	excess                      []float64 // exact pauses minus the runtime's sum, us
	window                      []float64 // the same of what lies between EvSTWBegin and EvSTWEnd
	atEnd, atBegin              []float64 // the parts of that after the runtime's last end, and before its begins, us
	heapError                   []float64 // (estimate - exact) / exact
}

func newTally(name string, clock stall.Clock, m *otelgc.Monitor) *tally {
	t := &tally{name: name, clock: clock, monitor: m}
	debug.ReadGCStats(&t.stats)
	t.numGC, t.after = t.stats.NumGC, uint64(t.stats.NumGC)
	return t
}

// look compares the collections that ended since the last look.
func (t *tally) look() {
	t.readRuntime()
	list, dropped := t.monitor.Collections(t.after)
	t.lost += int64(dropped)
	for i := range list {
		c := &list[i]
		t.after = c.Index
		t.seen += c.Cycles
		if c.Fidelity == stall.Exact {
			t.compare(c)
		}
	}
}

// readRuntime appends the collections that have ended since the last look.
func (t *tally) readRuntime() {
	debug.ReadGCStats(&t.stats)
	wall := t.clock.Wall().Offset
	fresh := t.stats.NumGC - t.numGC
	kept := min(fresh, int64(len(t.stats.Pause)))
	t.lost += fresh - kept
	for i := kept - 1; i >= 0; i-- {
		t.runtime = append(t.runtime, runtimeCycle{
			index: uint64(t.stats.NumGC - i),
			pause: t.stats.Pause[i],
			end:   stall.Instant(t.stats.PauseEnd[i].UnixNano() - int64(wall)),
		})
	}
	t.numGC = t.stats.NumGC
}

// compare finds what the runtime says of c, by the time at which it ended.
func (t *tally) compare(c *gc.Collection) {
	last := c.Pauses[len(c.Pauses)-1]
	i := sort.Search(len(t.runtime), func(i int) bool { return t.runtime[i].end >= last.Start.Add(-matchSlack) })
	if i == len(t.runtime) || t.runtime[i].end > last.EndMax.Add(matchSlack) {
		t.unmatched++
		return
	}
	if t.runtime[i].index != c.Index {
		t.renumbered++
	}
	t.excess = append(t.excess, micro(c.PauseTotal()-t.runtime[i].pause))
	window := -t.runtime[i].pause
	for _, p := range c.Pauses {
		window += p.EndMax.Sub(p.Start)
	}
	t.window = append(t.window, micro(window))
	// EvGCEnd, which c.End is, is the last event before the runtime reads the clock
	// for the end of its pause (runtime/mgc.go, gcMarkTermination, Go 1.26).
	if end, ok := c.End.Get(); ok {
		after := last.EndMax.Sub(end)
		t.atEnd = append(t.atEnd, micro(after))
		t.atBegin = append(t.atBegin, micro(window-after))
	}
	t.compareHeap(c)
}

func micro(d time.Duration) float64 { return float64(d) / 1e3 }

// compareHeap finds by how much cycle fidelity would have missed the heap before c. Cycle
// fidelity takes the goal that was in force.
func (t *tally) compareHeap(c *gc.Collection) {
	goal, ok := c.Goal.Get()
	before, known := c.HeapBefore.Get()
	if !ok || !known || before == 0 || c.Trigger != gc.TriggerHeap || c.Estimated.Has(gc.FieldHeapBefore) {
		return
	}
	t.heapError = append(t.heapError, (float64(goal)-float64(before))/float64(before))
}

// write writes the page.
func write(s *harness.Page, e *experiment, tallies []*tally) {
	pauses := harness.NewTable("load | of | collections | exact | compared | min | p50 | p90 | p99 | max | below -1 us")
	ends := harness.NewTable("load | begins: p50 | p90 | p99 | last end: p50 | p90 | p99")
	heap := harness.NewTable("load | collections | error, median | size of the error, median | p95 | max")
	for _, t := range tallies {
		for _, of := range []struct {
			name string
			list []float64
		}{{"stops", t.window}, {"pauses", t.excess}} {
			below := 0
			for _, v := range of.list {
				if v < -1 {
					below++
				}
			}
			pauses.Row("%s | %s | %d | %d | %d | %s | %d", t.name, of.name, t.seen, len(of.list)+t.unmatched, len(of.list),
				quantiles(of.list, 0, 0.5, 0.9, 0.99, 1), below)
		}
		ends.Row("%s | %s | %s", t.name, quantiles(t.atBegin, 0.5, 0.9, 0.99), quantiles(t.atEnd, 0.5, 0.9, 0.99))
		size := harness.Each(t.heapError, math.Abs)
		heap.Row("%s | %d | %s | %s | %s | %s", t.name, len(size), harness.Percent(harness.Median(t.heapError)),
			harness.Percent(harness.Median(size)), harness.Percent(harness.Quantile(size, 0.95)), harness.Percent(harness.Quantile(size, 1)))
	}
	s.Para("Sums of a collection minus the runtime's own pause sum (debug.ReadGCStats), in microseconds; exact budget 1, %d MB long-lived heap. "+
		"A stop lies between EvSTWBegin and EvSTWEnd; the pause in it, which is what is reported, ends when another thread has a P again, or with the stop where none has.", e.live)
	s.Table(pauses)
	s.Para("Where the difference of the stops comes from, in microseconds: from the events before the runtime's own begins, of all stops of a collection together, " +
		"and after its own end, of the last stop.")
	s.Table(ends)
	s.Para("Nearly all of it is the last end. The runtime takes the time right behind EvGCEnd. Then it polls the network, returns and sweeps the spans that its P " +
		"has cached, wakes a thread for each other P with work, and only then stamps EvSTWEnd (runtime/mgc.go, gcMarkTermination; runtime/proc.go, " +
		"startTheWorldWithSema and procresize; Go 1.26). A profile of startTheWorldWithSema shows mostly the sweeping (mcache.prepareForSweep): that part is " +
		"longer where the P that ends the collection allocates, even on one P, where no thread has to be woken. Goroutines are stopped meanwhile, and the " +
		"runtime keeps the time nowhere: /sched/pauses/total/gc gets the time that was taken behind EvGCEnd. At a begin, the runtime stamps EvSTWBegin before " +
		"it takes the scheduler's lock, and its pause begins after: nothing, unless somebody else holds the lock. The tail is of stops whose thread lost its " +
		"CPU in between. A pause is over once others run. It is then shorter than the runtime's own where the runtime took its time later, as it does in all " +
		"stops but the last. To wake a thread whose CPU sleeps may take a fifth of a millisecond on a virtual machine; the woken thread runs meanwhile.")
	for _, t := range tallies {
		if t.unmatched+t.renumbered+int(t.lost) > 0 {
			s.Para("%s: %d exact collections without one of the runtime's at their end, %d whose number differs, %d not looked at in time.",
				t.name, t.unmatched, t.renumbered, t.lost)
		}
	}
	s.Para("Heap before a collection, as cycle fidelity estimates it (the goal in force when it began), against the exact one; collections that an allocation triggered.")
	s.Table(heap)
	s.Para("The runtime begins a collection somewhere between 70 %% of the way from the live heap to the goal and the goal, " +
		"the earlier the faster the program allocates. At GOGC=100 the estimate is therefore at most 2 / 1.7 - 1 = 17.6 %% too high.")
}

// quantiles writes the cells of values at ranks.
func quantiles(values []float64, ranks ...float64) string {
	return harness.Cells("%.1f", harness.Each(ranks, func(q float64) float64 { return harness.Quantile(values, q) }))
}
