// Package truth injects known causes into requests, and compares them with what
// otelgc names first.
package truth

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// Experiment injects known causes into requests of its own, and compares what it
// injected with what otelgc names first.
func Experiment() harness.Experiment {
	return harness.Experiment{Name: "truth", Title: "Truth by injection", Answer: "Is the first name of a slow request right?", Measurement: new(experiment)}
}

// experiment is what the flags say.
type experiment struct {
	affected int
	alone    int // of them those that the machine left alone
	limit    time.Duration
	only     string
	sums     int
	page     *harness.Page
}

func (e *experiment) Flags(f *flag.FlagSet) {
	f.IntVar(&e.affected, "affected", 400, "affected requests of each class")
	f.DurationVar(&e.limit, "limit", 3*time.Minute, "longest time to spend on a class")
	f.StringVar(&e.only, "only", "", "`names` of the classes to run, such as compute,pause; all of them without")
	f.IntVar(&e.sums, "sums", 1_000_000, "requests of the run in which every share is added up; 0 for no such run")
}

func (e *experiment) Measure(ctx context.Context, s *harness.Page) error {
	e.page = s
	var tallies []*tally
	for _, c := range classes() {
		if !e.wants(c) {
			continue
		}
		begin := time.Now()
		t, err := e.class(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		s.Logf("%s, %v", t, time.Since(begin).Round(time.Second))
		tallies = append(tallies, t)
	}
	write(s, "A program injects known causes into requests of its own and logs when; otelgc watches it at budget 1.", e.affected, tallies)
	if e.sums == 0 {
		return nil
	}
	sum, err := e.addUp(ctx)
	if err != nil {
		return err
	}
	sum.write(s)
	return nil
}

func (e *experiment) wants(c *class) bool {
	return e.only == "" || slices.Contains(strings.Split(e.only, ","), c.name)
}

// class is one kind of truth.
type class struct {
	name, what string
	right      func(semconv.Owner) bool
	percent    int // GOGC
	live       int // MB of long-lived heap, all of it to be marked
	workers    int // goroutines that do requests
	http       bool
	// thread gives each request's goroutine a thread of its own. The CPU time of that
	// thread is the part of the injection that the request did itself.
	thread bool
	// work is a request without injection, about half a millisecond.
	work func(b *bench)
	// own is an injection that a request does itself; it returns when it began
	// and was over. One in three requests does it.
	own func(b *bench, d time.Duration) stall.Span
	// around is an injection from outside, that lasts about as long as is said.
	around func(b *bench, d time.Duration) stall.Span
	// beside runs all the time while there are injections.
	beside func(b *bench, quit <-chan struct{})
	// also is asked of each affected request, besides what is named first.
	also func(r *request, s *stall.Share) bool
}

// off reports whether there are no collections at all.
func (c *class) off() bool { return c.percent < 0 && c.live == 0 }

// few returns whether a name is one of names.
func few(names ...semconv.Owner) func(semconv.Owner) bool {
	return func(o semconv.Owner) bool { return slices.Contains(names, o) }
}

// classes returns the table of truths.
func classes() []*class {
	var (
		program   = few(semconv.App, semconv.AppOrHost)
		collector = isGC
		nothing   = func(b *bench) { b.compute(400 * time.Microsecond) }
		turns     = func(b *bench) {
			b.compute(200 * time.Microsecond)
			runtime.Gosched()
			b.compute(200 * time.Microsecond)
		}
		// A turn on a P lasts 10 ms: an assist for so much ends in less.
		allocating = func(*bench) { allocate(256 << 10) }
	)
	return []*class{
		{
			name: "compute", what: "requests that compute for longer, and nothing else", right: program,
			percent: 100, workers: 1, work: nothing, own: func(b *bench, d time.Duration) stall.Span { return b.spans(func() { burn(d) }) },
		},
		{
			name: "pause", what: "forced collections, while a goroutine in a long hash is slow to stop", right: collector,
			percent: 100, workers: 1, work: turns,
			around: func(b *bench, d time.Duration) stall.Span { return b.slowToStop(d, runtime.GC) },
		},
		{
			name: "suspension", what: "four goroutines that call `runtime.ReadMemStats` all the time", right: few(suspension),
			percent: 100, workers: 1, work: nothing,
			around: func(b *bench, d time.Duration) stall.Span { return b.storm(4, d, readMemStats) },
		},
		{
			name: "assist", what: "allocation while a large heap is collected, close to the goal", right: collector,
			// One worker: two would fight for the P that the collector leaves.
			percent: -1, live: 64, workers: 1, thread: true, work: allocating,
			around: func(b *bench, d time.Duration) stall.Span { return b.collectTight() },
		},
		{
			name: "wait", what: "calls of `runtime.GC` with a large heap", right: collector,
			percent: -1, live: 64, workers: 1, work: nothing,
			own: func(b *bench, _ time.Duration) stall.Span { return b.spans(runtime.GC) },
		},
		{
			name: "sched", what: "goroutines that compute, eight per P", right: few(sched),
			percent: 100, workers: 1, work: turns,
			around: func(b *bench, d time.Duration) stall.Span { return b.crowd(8*runtime.GOMAXPROCS(0), d) },
		},
		{
			name: "sleep", what: "a timer, while collections are forced", right: few(semconv.App), also: spared,
			percent: 100, workers: 2, work: nothing, own: (*bench).sleep, beside: forceAlways,
		},
		{
			name: "channel", what: "another goroutine's message, while collections are forced", right: few(semconv.App), also: spared,
			percent: 100, workers: 2, work: nothing, own: (*bench).receive, beside: forceAlways,
		},
		{
			name: "network", what: "an answer from the network, while collections are forced", right: few(semconv.App), also: spared,
			percent: 100, workers: 2, work: nothing, own: (*bench).ask, beside: forceAlways,
		},
		{
			name: "arrival", what: "a pause between the arrival of a request and its handler", right: collector,
			percent: 100, workers: 2, http: true, work: nothing,
			around: func(b *bench, d time.Duration) stall.Span { return b.slowToStop(d, runtime.GC) },
		},
		{
			name: "gc-off", what: "all of the above but the collector, which is off", right: func(o semconv.Owner) bool { return !isGC(o) && o != schedGC },
			also: notBlamed, percent: -1, workers: 2, work: turns, own: (*bench).sleep,
			around: func(b *bench, d time.Duration) stall.Span {
				if rand.IntN(2) == 0 {
					return b.storm(4, d, readMemStats)
				}
				return b.crowd(8*runtime.GOMAXPROCS(0), d)
			},
		},
	}
}

// spared reports whether nothing was charged to the collector for the time in
// which the request waited.
func spared(r *request, s *stall.Share) bool {
	return s.GC()+s.Charged[stall.SchedGC] <= s.Total-r.Own.Duration()+slack
}

// slack is what two clocks that are read one after the other may differ by.
const slack = time.Microsecond

// notBlamed reports whether the collector has no part at all.
func notBlamed(_ *request, s *stall.Share) bool {
	return s.GC() == 0 && s.Charged[stall.SchedGC] == 0
}
