package truth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/stall"
)

// owner is a name that a request's time can have.
type owner string

const (
	suspension owner = "runtime.suspension"
	schedGC    owner = "sched.gc"
	sched      owner = "sched"
	queue      owner = "queue"
	app        owner = "app"
	appOrHost  owner = "app_or_host"
	uncertain  owner = "uncertain"
	unseen     owner = "unseen"
)

// owners are the columns of the matrix. No source watches the machine here, so
// that no cause of it can be named.
var owners = []owner{
	"gc.pause", "gc.assist", "gc.sweep", "gc.wait", schedGC, suspension, sched, queue, app, appOrHost, uncertain, unseen,
}

func (o owner) isGC() bool {
	c, err := stall.ParseCause(string(o))
	return err == nil && c.IsGC()
}

// first returns what a share names first: the longest part, as Share.Explain has
// it, but for time that nobody saw, which counts as a name here.
func first(s *stall.Share) owner {
	name, longest := unseen, s.Unseen
	take := func(o owner, d time.Duration) {
		if d > longest {
			name, longest = o, d
		}
	}
	for c := stall.GCPause; c < stall.NumCauses; c++ {
		take(owner(c.String()), s.Charged[c])
	}
	take(app, s.App)
	take(appOrHost, s.AppOrHost)
	take(uncertain, s.Uncertain)
	return name
}

// leftOver returns the part of the window's time that has no owner, or more than
// one.
func leftOver(s *stall.Share) time.Duration {
	d := s.Total - s.Uncertain - s.App - s.AppOrHost - s.Unseen
	for _, charged := range s.Charged {
		d -= charged
	}
	return d
}

// tally is what was found of one class.
type tally struct {
	class *class
	p99   time.Duration // of requests without injection
	least time.Duration // overlap of an affected request

	requests, affected int
	unmatched          int           // requests that no window, or more than one, was found for
	held, heldRight    int           // affected, but the machine was an injector too; named right all the same
	waited             map[owner]int // named first, of those that waited for longer than what was injected
	first              map[owner]int
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
	return &tally{class: c, p99: p99, least: affectedTimes * p99, first: make(map[owner]int), waited: make(map[owner]int)}
}

// judge compares the program's log with what the monitor found.
func (t *tally) judge(b *bench) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.windows {
		if s := &b.windows[i].share; leftOver(s) != 0 {
			t.broken++
		}
		if s := &b.windows[i].share; s.GC()+s.Charged[stall.SchedGC] > 0 {
			t.blamed++
		}
	}
	slices.SortFunc(b.windows, func(a, c window) int { return int(a.Start - c.Start) })
	for i := range b.requests {
		r := &b.requests[i]
		t.requests++
		if b.overlap(r) < t.least {
			continue
		}
		w := b.windowOf(r)
		switch {
		case w == nil:
			t.unmatched++
		case b.heldUp(r):
			t.held++
			if t.isRight(r, &w.share) {
				t.heldRight++
			}
		case b.waited(r):
			t.waited[first(&w.share)]++
		default:
			t.affected++
			before := t.rightOrSched
			t.name(r, &w.share)
			if b.leftAlone(r) {
				t.alone++
				t.aloneRight += t.rightOrSched - before
			}
		}
	}
}

func (t *tally) isRight(r *request, s *stall.Share) bool {
	return t.class.right(first(s)) && (t.class.also == nil || t.class.also(r, s))
}

func (t *tally) name(r *request, s *stall.Share) {
	name := first(s)
	t.first[name]++
	if s.GC() > r.end[1].Sub(r.begin[0]) {
		t.before++
	}
	switch {
	case t.isRight(r, s):
		t.right++
		t.rightOrSched++
	case name == schedGC && t.class.right("gc.pause"):
		t.rightOrSched++
	}
}

// windowOf finds the window of r, by when it began and ended; nil if there is
// none or more than one. Windows are by start.
func (b *bench) windowOf(r *request) (found *window) {
	from, _ := slices.BinarySearchFunc(b.windows, r.begin[0], func(w window, t stall.Instant) int { return int(w.Start - t) })
	for i := range b.windows[from:] {
		w := &b.windows[from+i]
		if w.Start > r.begin[1] {
			break
		}
		if r.end[0] <= w.End && w.End <= r.end[1] {
			if found != nil {
				return nil
			}
			found = w
		}
	}
	return found
}

// interval returns the share of the affected requests that were named right,
// with its interval.
func (t *tally) interval() harness.Share { return harness.Wilson(t.right, t.affected) }

// String says it in a line, for the log.
func (t *tally) String() string {
	text := fmt.Sprintf("%s: p99 %v, %d requests, %d affected, %s right, %d of %d that the machine left alone, %d set aside (%d right), named first %v",
		t.class.name, t.p99.Round(time.Microsecond), t.requests, t.affected, t.interval(), t.aloneRight, t.alone, t.held, t.heldRight, t.first)
	if len(t.waited) > 0 {
		text += fmt.Sprintf(", waited for longer %v", t.waited)
	}
	if t.dropped != "" {
		text += "; dropped: " + t.dropped
	}
	return text
}

// write puts the figures and how they came about into s.
func write(s *harness.Page, affected int, tallies []*tally) {
	if len(tallies) == 0 {
		return
	}
	s.Para("A program injects known causes into requests of its own and logs when; otelgc watches it at budget 1. The page compares the injected cause with the "+
		"first name that otelgc gives: the longest part of the request. A request is affected if the log overlaps it by at least %d times the p99 of requests "+
		"without injection, which is measured first in the same run; each class wants at least %d affected requests.", affectedTimes, affected)
	s.Table(summary(tallies))
	s.Para("Right: the name is that of the class. For the collector's classes that is any of gc.pause, gc.assist, gc.sweep and gc.wait; for requests that compute, " +
		"app or app_or_host, since no source watches the machine here. For requests that wait while collections are forced, the collector may be charged " +
		"nothing for the time of the wait, either. With sched.gc: that name counts as right for the collector's classes, too. It is the time in which the " +
		"request wanted a CPU that a GC worker had, an upper bound that the headline share of GC leaves out. The interval is Wilson's, 95 %%. Set aside: the " +
		"kernel kept threads of the process waiting for a CPU for more than half as long as the injection, so that the machine was an injector, too. A slow " +
		"stop is logged from its request to the earliest end of the hash, at its best rate, and only if the runtime's own histogram of stopping times has one " +
		"as long. In the class of assists the log has the collection. It counts for a request as far as the kernel ran the request's own thread for longer than " +
		"the p99 without injection: a collection takes CPUs away, too, and that is sched.gc.")
	s.Para("What was injected, by row, and what was named first, by column, of the affected requests:")
	s.Table(matrix(tallies))
	for _, t := range tallies {
		if n := len(t.callers); n > 0 && t.class.name == "suspension" {
			s.Para("The stops of the suspension class were reported with their caller: %s.", callersOf(t.callers))
		}
		if t.class.thread {
			s.Para("Left out in class %s: %d requests that waited, for credit or for a CPU, for longer than they worked for the collector. What was the largest there is not in the log%s.",
				t.class.name, countOf(t.waited), listed(t.waited))
		}
		if t.class.http {
			s.Para("Of the %d affected requests of class %s, %d were charged more to the collector than their whole handler took: only the time since their arrival can be that.",
				t.affected, t.class.name, t.before)
		}
		if t.dropped != "" {
			s.Para("In class %s the monitor dropped %s.", t.class.name, t.dropped)
		}
		if t.class.percent < 0 && t.class.live == 0 {
			s.Para("With the collector off, %d of %d requests, affected or not, have time of gc.* or sched.gc.", t.blamed, t.requests)
		}
	}
	windows, broken, unmatched := 0, 0, 0
	for _, t := range tallies {
		windows, broken, unmatched = windows+t.requests, broken+t.broken, unmatched+t.unmatched
	}
	s.Para("Of %d requests, affected or not, %d have parts that do not sum to their duration. %d affected ones have no window of their own, by when they began and ended.",
		windows, broken, unmatched)
}

func summary(tallies []*tally) [][]string {
	rows := [][]string{{"class", "injected", "p99 without", "requests", "affected", "right", "with sched.gc", "set aside"}}
	for _, t := range tallies {
		rows = append(rows, []string{t.class.name, t.class.what, fmt.Sprint(t.p99.Round(10 * time.Microsecond)), fmt.Sprint(t.requests), fmt.Sprint(t.affected),
			t.interval().String(), harness.Wilson(t.rightOrSched, t.affected).String(), fmt.Sprint(t.held)})
	}
	return rows
}

func matrix(tallies []*tally) [][]string {
	head := []string{"class"}
	for _, o := range owners {
		head = append(head, string(o))
	}
	rows := [][]string{append(head, "others")}
	for _, t := range tallies {
		row, rest := []string{t.class.name}, t.affected
		for _, o := range owners {
			row, rest = append(row, fmt.Sprint(t.first[o])), rest-t.first[o]
		}
		rows = append(rows, append(row, fmt.Sprint(rest)))
	}
	return rows
}

func countOf(by map[owner]int) (n int) {
	for _, k := range by {
		n += k
	}
	return n
}

// listed says how often each name came first.
func listed(by map[owner]int) (text string) {
	for _, o := range owners {
		if by[o] > 0 {
			text += fmt.Sprintf("; %s came first in %d", o, by[o])
		}
	}
	return text
}

// callersOf lists them, most frequent first.
func callersOf(by map[string]int) string {
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return by[b] - by[a] })
	for i, name := range names {
		names[i] = fmt.Sprintf("`%s` %d", name, by[name])
	}
	return strings.Join(names, ", ")
}
