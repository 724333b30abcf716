package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/spread"
)

// write puts the figures and how they came about into s.
func write(s *report.Section, affected int, tallies []*tally) {
	if len(tallies) == 0 {
		return
	}
	s.Para("A program injects what it knows into requests of its own and logs when, otelgc watches it at budget 1, and what it names first "+
		"(the longest part of the request) is compared with what was injected. A request is affected if the log overlaps it by at least %d times the p99 "+
		"of requests without injection, which is measured first in the same run; at least %d affected requests per class are wanted.", affectedTimes, affected)
	s.Table(summary(tallies))
	s.Para("Right: the name is that of the class; any of gc.pause, gc.assist, gc.sweep and gc.wait for those of the collector, app or app_or_host for requests that compute, " +
		"as no source of scope target watches here. " +
		"For those that wait while collections are forced, nothing may be charged to the collector for the time that they waited, too. " +
		"With sched.gc: where that name counts as right for the classes of the collector; it is the time in which the request wanted a CPU that a GC worker had, " +
		"an upper bound, which the headline share of GC leaves out. The interval is Wilson's, 95 %%. " +
		"Set aside: the kernel kept threads of the process waiting for a CPU for more than half as long as what was injected, so that the machine was an injector too. " +
		"A stop that is slow is logged from when it is asked for to when the hash can be over at its best rate, and only if the runtime's own count of the times to stop has one as long. " +
		"In the class of assists the collection is logged, and counts for a request as far as the kernel ran the request's own thread for longer than the p99 without injection: " +
		"a collection takes CPUs away, too, and that is sched.gc.")
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
			t.interval().String(), spread.Wilson(t.rightOrSched, t.affected).String(), fmt.Sprint(t.held)})
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
			row, rest = append(row, cell(t.first[o])), rest-t.first[o]
		}
		rows = append(rows, append(row, cell(rest)))
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

func cell(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// callersOf lists them, most frequent first.
func callersOf(by map[string]int) string {
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return by[b] - by[a] })
	for i, name := range names {
		names[i] = fmt.Sprintf("`%s` %d", name, by[name])
	}
	return strings.Join(names, ", ")
}
