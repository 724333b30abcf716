package truth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// Owners of time that classes name.
const (
	suspension = semconv.Owner(stall.RuntimeSuspension)
	schedGC    = semconv.Owner(stall.SchedGC)
	sched      = semconv.Owner(stall.Sched)
)

// owners are the columns of the matrix. No source watches the machine here, so
// that no cause of it can be named.
var owners = []semconv.Owner{
	semconv.Owner(stall.GCPause), semconv.Owner(stall.GCAssist), semconv.Owner(stall.GCSweep), semconv.Owner(stall.GCWait), schedGC, suspension, sched,
	semconv.Owner(stall.Queue), semconv.App, semconv.AppOrHost, semconv.Uncertain, semconv.Unseen,
}

func isGC(o semconv.Owner) bool { return stall.Cause(o).IsGC() }

// first returns what a share names first: the longest part, as Share.Explain has
// it, but for time that nobody saw, which counts as a name here.
func first(s *stall.Share) semconv.Owner {
	name := semconv.Unseen
	for o := range semconv.NumOwners {
		if *o.Part(s) > *name.Part(s) {
			name = o
		}
	}
	return name
}

// leftOver returns the part of the window's time that has no owner. It is negative if
// parts overlap.
func leftOver(s *stall.Share) time.Duration {
	d := s.Total
	for o := range semconv.NumOwners {
		d -= *o.Part(s)
	}
	return d
}

// tally is what was found of one class.
type tally struct {
	class *class
	p99   time.Duration // of requests without injection
	least time.Duration // overlap of an affected request

	requests, affected int
	windows            int                   // that were found, affected or not
	unwatched          int                   // affected requests that were not watched from begin to end
	unmatched          int                   // and those that were, for which no window was found, or more than one
	held               int                   // affected, but the machine was an injector too
	waited             map[semconv.Owner]int // named first, of those that waited for longer than what was injected
	first              map[semconv.Owner]int
	right              int // named first what was injected
	rightOrSched       int // or sched.gc
	alone, aloneRight  int // affected, and the machine left them alone; named right, or sched.gc
	before             int // charged more to the collector than their handler took
	broken             int // windows, affected or not, whose parts do not sum
	blamed             int // windows, affected or not, in which the collector has a part
	callers            map[string]int
	dropped            string // by the monitor
}

func newTally(c *class, p99 time.Duration) *tally {
	return &tally{class: c, p99: p99, least: affectedTimes * p99, first: make(map[semconv.Owner]int), waited: make(map[semconv.Owner]int)}
}

// classify compares the program's log with what the monitor found.
func (t *tally) classify(b *bench) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t.windows += len(b.windows)
	for i := range b.windows {
		s := &b.windows[i].share
		if leftOver(s) != 0 {
			t.broken++
		}
		if s.GC()+s.Charged[stall.SchedGC] > 0 {
			t.blamed++
		}
	}
	slices.SortFunc(b.windows, func(a, c window) int { return int(a.Start - c.Start) })
	for i := range b.Requests {
		r := &b.Requests[i]
		t.requests++
		if b.overlap(r) < t.least {
			continue
		}
		w := b.windowOf(r)
		switch {
		case w == nil && !b.whole(r):
			t.unwatched++
		case w == nil:
			t.unmatched++
		case b.heldUp(r):
			t.held++
		case b.waited(r):
			t.waited[first(&w.share)]++
		default:
			t.affected++
			right := t.name(r, &w.share)
			if b.leftAlone(r) {
				t.alone++
				if right {
					t.aloneRight++
				}
			}
		}
	}
}

// name counts the owner that s names first, and reports whether it is right, or sched.gc.
func (t *tally) name(r *request, s *stall.Share) bool {
	name := first(s)
	t.first[name]++
	if s.GC() > r.End[1].Sub(r.Begin[0]) {
		t.before++
	}
	right := t.class.right(name) && (t.class.also == nil || t.class.also(r, s))
	if right {
		t.right++
	}
	if right = right || name == schedGC && t.class.right(owners[0]); right {
		t.rightOrSched++
	}
	return right
}

// windowOf finds the window of r, by when it began and ended; nil if there is
// none or more than one. Windows are by start.
func (b *bench) windowOf(r *request) (found *window) {
	from, _ := slices.BinarySearchFunc(b.windows, r.Begin[0], func(w window, t stall.Instant) int { return int(w.Start - t) })
	for i := range b.windows[from:] {
		w := &b.windows[from+i]
		if w.Start > r.Begin[1] {
			break
		}
		if r.End[0] <= w.End && w.End <= r.End[1] {
			if found != nil {
				return nil
			}
			found = w
		}
	}
	return found
}

// whole reports whether r was watched from begin to end.
func (b *bench) whole(r *request) bool {
	return b.watched == nil || slices.ContainsFunc(b.watched, func(s stall.Span) bool { return s.Start <= r.Begin[0] && r.End[1] <= s.End })
}

// interval returns the share of the affected requests that were named right,
// with its interval.
func (t *tally) interval() harness.Share { return harness.Wilson(t.right, t.affected) }

// String returns t in one line, for the log.
func (t *tally) String() string {
	text := fmt.Sprintf("%s: p99 %v, %d requests, %d affected, %s right, %d of %d that the machine left alone, %d set aside, named first %v",
		t.class.name, t.p99.Round(time.Microsecond), t.requests, t.affected, t.interval(), t.aloneRight, t.alone, t.held, t.first)
	if len(t.waited) > 0 {
		text += fmt.Sprintf(", waited for longer %v", t.waited)
	}
	if t.dropped != "" {
		text += "; dropped: " + t.dropped
	}
	return text
}

// write writes the page, which begins with what is watched and how.
func write(s *harness.Page, watched string, affected int, tallies []*tally) {
	if len(tallies) == 0 {
		return
	}
	s.Para("%s The page compares the injected cause with the first name that otelgc gives: the longest part of the request. "+
		"A request is affected if the log overlaps it by at least %d times the p99 of requests without injection, which is measured first in the same run; "+
		"each class wants at least %d affected requests.", watched, affectedTimes, affected)
	summary := harness.NewTable("class | injected | p99 without | requests | affected | right | with sched.gc | set aside")
	matrix := harness.NewTable("class | " + harness.Cells("%v", owners) + " | others")
	windows, broken, unmatched := 0, 0, 0
	for _, t := range tallies {
		summary.Row("%s | %s | %v | %d | %d | %v | %v | %d", t.class.name, t.class.what, t.p99.Round(10*time.Microsecond), t.requests, t.affected,
			t.interval(), harness.Wilson(t.rightOrSched, t.affected), t.held)
		var counts []int
		others := t.affected
		for _, o := range owners {
			counts = append(counts, t.first[o])
			others -= t.first[o]
		}
		matrix.Row("%s | %s | %d", t.class.name, harness.Cells("%d", counts), others)
		windows, broken, unmatched = windows+t.windows, broken+t.broken, unmatched+t.unmatched
	}
	s.Table(summary)
	s.Para("Right: the name is that of the class. For the collector's classes that is any of gc.pause, gc.assist, gc.sweep and gc.wait; for requests that compute, " +
		"app or app_or_host, since no source watches the machine here. For requests that wait while collections are forced, the collector may be charged " +
		"nothing for the time of the wait, either. With sched.gc: that name counts as right for the collector's classes, too. It is the time in which the " +
		"request wanted a CPU that a GC worker had, an upper bound that the headline share of GC leaves out. The interval is Wilson's, 95 %%. Set aside: the " +
		"kernel kept threads of the process waiting for a CPU for more than half as long as the injection, so that the machine was an injector, too. A slow " +
		"stop is logged from its request to the earliest end of the hash, at its best rate, and only if the runtime's own histogram of stopping times has one " +
		"as long. In the class of assists the log has the collection. It counts for a request as far as the kernel ran the request's own thread for longer than " +
		"the p99 without injection: a collection takes CPUs away, too, and that is sched.gc.")
	s.Para("What was injected, by row, and what was named first, by column, of the affected requests:")
	s.Table(matrix)
	for _, t := range tallies {
		if n := len(t.callers); n > 0 && t.class.name == "suspension" {
			s.Para("The stops of the suspension class were reported with their caller: %s.", callersOf(t.callers))
		}
		if t.class.thread {
			waited, names := 0, ""
			for _, o := range slices.Sorted(maps.Keys(t.waited)) {
				waited += t.waited[o]
				names += fmt.Sprintf("; %v came first in %d", o, t.waited[o])
			}
			s.Para("Left out in class %s: %d requests that waited, for credit or for a CPU, for longer than they worked for the collector. What was the largest there is not in the log%s.",
				t.class.name, waited, names)
		}
		if t.class.http {
			s.Para("Of the %d affected requests of class %s, %d were charged more to the collector than their whole handler took: only the time since their arrival can be that.",
				t.affected, t.class.name, t.before)
		}
		if t.dropped != "" {
			s.Para("In class %s the monitor dropped %s.", t.class.name, t.dropped)
		}
		if t.class.off() {
			s.Para("With the collector off, %d of %d requests, affected or not, have time of gc.* or sched.gc.", t.blamed, t.windows)
		}
	}
	s.Para("Of %d requests, affected or not, %d have parts that do not sum to their duration. %d affected ones have no window of their own, by when they began and ended.",
		windows, broken, unmatched)
}

// callersOf lists them, most frequent first.
func callersOf(by map[string]int) string {
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return by[b] - by[a] })
	for i, name := range names {
		names[i] = fmt.Sprintf("`%s` %d", name, by[name])
	}
	return strings.Join(names, ", ")
}
