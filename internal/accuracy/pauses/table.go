package main

import (
	"fmt"
	"math"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/spread"
)

// write puts the figures and how they came about into s.
func write(s *report.Section, e *experiment, tallies []*tally) {
	pauses := [][]string{{"load", "collections", "exact", "compared", "min", "p50", "p90", "p99", "max", "below -1 us"}}
	ends := [][]string{{"load", "begins: p50", "p90", "p99", "last end: p50", "p90", "p99"}}
	heap := [][]string{{"load", "collections", "error, median", "size of the error, median", "p95", "max"}}
	for _, t := range tallies {
		row := []string{t.name, fmt.Sprint(t.seen), fmt.Sprint(len(t.excess) + t.unmatched), fmt.Sprint(len(t.excess))}
		for _, q := range []float64{0, 0.5, 0.9, 0.99, 1} {
			row = append(row, fmt.Sprintf("%.1f", spread.Quantile(t.excess, q)))
		}
		pauses = append(pauses, append(row, fmt.Sprint(count(t.excess, func(v float64) bool { return v < -1 }))))

		row = []string{t.name}
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
	s.Para("Sum of a collection's exact stop-the-world windows minus the runtime's own pause sum (debug.ReadGCStats), in microseconds; exact budget 1, %d MB long-lived heap.", e.live)
	s.Table(pauses)
	s.Para("Where the difference comes from, in microseconds: from the events before the runtime's own begins, of all stops of a collection together, " +
		"and after its own end, of the last stop.")
	s.Table(ends)
	s.Para("Nearly all of it is the last end. There the runtime takes the time right behind EvGCEnd, and has the world to restart yet: it looks at the network, " +
		"gives back and sweeps the spans that its P has cached, wakes a thread for each other P with work, and only then stamps EvSTWEnd " +
		"(runtime/mgc.go, gcMarkTermination; runtime/proc.go, startTheWorldWithSema and procresize; Go 1.26). " +
		"A profile of startTheWorldWithSema has most of it in the sweeping (mcache.prepareForSweep): so it is longer where the P that ends the collection allocates, " +
		"and on one P too, where nobody has to be woken. Where the CPUs are free no goroutine runs meanwhile: the longer time is what goroutines suffer, and no earlier event would be true; " +
		"the runtime keeps it nowhere: its histogram, /sched/pauses/total/gc, is given the time that was taken behind EvGCEnd. " +
		"At the begins, EvSTWBegin is stamped before the runtime takes the scheduler's lock, and its pause begins after: where nobody else holds the lock, that is nothing. " +
		"The tail is of stops whose thread lost its CPU in between.")
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
