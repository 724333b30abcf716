package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/spread"
	"github.com/otelgc/otelgc/stall"
)

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
func (t *tally) interval() spread.Share { return spread.Wilson(t.right, t.affected) }

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
