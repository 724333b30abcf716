package main

import (
	"fmt"
	"math"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/spread"
)

// write puts the figures and how they came about into s.
func write(s *report.Section, e *experiment, tallies []*tally) {
	pauses := [][]string{{"load", "of", "collections", "exact", "compared", "min", "p50", "p90", "p99", "max", "below -1 us"}}
	ends := [][]string{{"load", "begins: p50", "p90", "p99", "last end: p50", "p90", "p99"}}
	heap := [][]string{{"load", "collections", "error, median", "size of the error, median", "p95", "max"}}
	for _, t := range tallies {
		for _, of := range []struct {
			name string
			list []float64
		}{{"stops", t.window}, {"pauses", t.excess}} {
			row := []string{t.name, of.name, fmt.Sprint(t.seen), fmt.Sprint(len(of.list) + t.unmatched), fmt.Sprint(len(of.list))}
			for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
				row = append(row, fmt.Sprintf("%.1f", spread.Quantile(of.list, q)))
			}
			pauses = append(pauses, append(row, fmt.Sprint(count(of.list, func(v float64) bool { return v < -1 }))))
		}

		row := []string{t.name}
		for _, part := range [][]float64{t.atBegin, t.atEnd} {
			for _, q := range []float64{0.5, 0.9, 0.99} {
				row = append(row, fmt.Sprintf("%.1f", spread.Quantile(part, q)))
			}
		}
		ends = append(ends, row)

		size := make([]float64, len(t.heapError))
		for i, v := range t.heapError {
			size[i] = math.Abs(v)
		}
		heap = append(heap, []string{t.name, fmt.Sprint(len(size)), percent(spread.Median(t.heapError)),
			percent(spread.Median(size)), percent(spread.Quantile(size, 0.95)), percent(spread.Quantile(size, 1))})
	}
	s.Para("Sums of a collection minus the runtime's own pause sum (debug.ReadGCStats), in microseconds; exact budget 1, %d MB long-lived heap. "+
		"A stop lies between EvSTWBegin and EvSTWEnd; the pause in it, which is what is reported, ends when another thread has a P again, or with the stop where none has.", e.live)
	s.Table(pauses)
	s.Para("Where the difference of the stops comes from, in microseconds: from the events before the runtime's own begins, of all stops of a collection together, " +
		"and after its own end, of the last stop.")
	s.Table(ends)
	s.Para("Nearly all of it is the last end. There the runtime takes the time right behind EvGCEnd, and has the world to restart yet: it looks at the network, " +
		"gives back and sweeps the spans that its P has cached, wakes a thread for each other P with work, and only then stamps EvSTWEnd " +
		"(runtime/mgc.go, gcMarkTermination; runtime/proc.go, startTheWorldWithSema and procresize; Go 1.26). " +
		"A profile of startTheWorldWithSema has most of it in the sweeping (mcache.prepareForSweep): so it is longer where the P that ends the collection allocates, " +
		"and on one P too, where nobody has to be woken. That part goroutines suffer, and the runtime keeps it nowhere: " +
		"its histogram, /sched/pauses/total/gc, is given the time that was taken behind EvGCEnd. " +
		"At the begins, EvSTWBegin is stamped before the runtime takes the scheduler's lock, and its pause begins after: where nobody else holds the lock, that is nothing. " +
		"The tail is of stops whose thread lost its CPU in between. If others run by then, the pause is over: " +
		"it is shorter than the runtime's own where the runtime, too, took the time after that, as it does in all stops but the last. " +
		"To wake a thread whose CPU sleeps may take the starter a fifth of a millisecond on a virtual machine, and the woken one runs meanwhile.")
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

func percent(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) }

func count(values []float64, is func(float64) bool) (n int) {
	for _, v := range values {
		if is(v) {
			n++
		}
	}
	return n
}
