package main

import (
	"fmt"
	"math"

	"github.com/otelgc/otelgc/internal/accuracy/report"
	"github.com/otelgc/otelgc/internal/accuracy/spread"
)

// near is how far the medians of the short gaps may lie apart, and longestLook
// how long one look of the probe may take.
const (
	near        = 0.20
	longestLook = 12 // ns
)

// write puts the figures and how they came about into s.
func write(s *report.Section, e *experiment, c *comparison) {
	s.Para("oslat of rt-tests %s and the probe in turns on CPU %d, %d runs of %v each, both at normal priority, nothing else to do on the machine. "+
		"Gaps per second: median (quartiles).", c.version, e.cpu, e.rounds, e.span)
	rows := [][]string{{"at least", "oslat", "probe", "probe / oslat", "wanted", ""}}
	for i, b := range bounds {
		theirs, ours := column(c.oslat, i), column(c.probe, i)
		v := judge(i, theirs, ours)
		rows = append(rows, []string{us(b.Seconds()), quartiles(theirs), quartiles(ours), v.ratio, v.wanted, word(v.met)})
	}
	s.Table(rows)
	loop := spread.Quantile(c.loop, 1)
	s.Para("A look of the probe takes %.2f ns, %.2f in the worst run (wanted: at most %d; %s). Looks and gaps together make up %.3f %% of the time.",
		spread.Median(c.loop), loop, longestLook, word(loop <= longestLook), 100*spread.Median(c.balance))
	s.Para("oslat rounds up to whole microseconds and has no timestamps; the probe has both ends of each gap on CLOCK_MONOTONIC.")
}

type verdict struct {
	ratio, wanted string
	met           bool
}

// judge compares the medians: short gaps are many and come from the machine's
// own ticks; of the longest there are so few that oslat does not agree with
// itself either.
func judge(i int, theirs, ours []float64) verdict {
	o, p := spread.Median(theirs), spread.Median(ours)
	v := verdict{ratio: "n/a"}
	if o > 0 {
		v.ratio = fmt.Sprintf("%.2f", p/o)
	}
	if i < len(bounds)-1 {
		v.wanted, v.met = fmt.Sprintf("within %.0f %%", 100*near), math.Abs(p-o) <= near*o
		return v
	}
	span := spread.Quantile(theirs, 1) - spread.Quantile(theirs, 0)
	v.wanted = fmt.Sprintf("%.1f/s apart at most, the spread of oslat", span)
	v.met = math.Abs(p-o) <= span
	return v
}

func word(met bool) string {
	if met {
		return "met"
	}
	return "not met"
}

func column(all []rates, i int) []float64 {
	v := make([]float64, len(all))
	for k := range all {
		v[k] = all[k][i]
	}
	return v
}

func quartiles(v []float64) string {
	return fmt.Sprintf("%.1f (%.1f to %.1f)", spread.Median(v), spread.Quantile(v, 0.25), spread.Quantile(v, 0.75))
}

func us(seconds float64) string { return fmt.Sprintf("%.0f us", 1e6*seconds) }
