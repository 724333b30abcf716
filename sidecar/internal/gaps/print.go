package gaps

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/page"
	"github.com/otelgc/otelgc/stall"
)

// Print writes the report as text, at most 100 columns wide.
func (r *Report) Print(to io.Writer) error {
	w := bufio.NewWriter(to)
	r.printHead(w)
	r.printCounts(w)
	r.printCauses(w)
	r.printHistogram(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

func (r *Report) printHead(w io.Writer) {
	where := "not pinned"
	if r.CPU >= 0 {
		where = fmt.Sprintf("CPU %d", r.CPU)
	}
	fmt.Fprintf(w, "GAPS OF THIS MACHINE, %v\n\n", r.Observed().Round(time.Millisecond))
	fmt.Fprintf(w, "  mode       %s, %s, threshold %s, clock %s\n", r.Mode, where, bound(r.Threshold), clockName)
	if r.Note != "" {
		fmt.Fprintf(w, "             %s\n", r.Note)
	}
	if r.Loop > 0 {
		fmt.Fprintf(w, "  loop       %.2f ns; looks and gaps make up %.2f %% of the time\n", r.Loop, 100*r.Balance)
	}
	fmt.Fprintf(w, "  covered    %.3f %%; %s dropped (%v)\n", 100*r.Covered(), page.Many(r.Dropped, "gap"), r.DroppedTime)
	fmt.Fprintf(w, "  lost       %v in %s, %.3f %% of the time\n", r.GapTime, page.Many(r.Gaps, "gap"), share(r.GapTime, r.Observed()))
	if r.Gaps > 0 {
		fmt.Fprintf(w, "  longest    %v, %.3f s after the start, %s\n",
			r.Longest.Duration(), r.Longest.Start.Sub(r.Start).Seconds(), r.Longest.Cause)
		if e := r.Longest.Evidence.String(); e != "" {
			fmt.Fprintf(w, "             %s\n", e)
		}
	}
	if r.Backward > 0 {
		fmt.Fprintf(w, "  backward   %s lost, in which the counter ran backward\n", page.Many(r.Backward, "gap"))
	}
}

func (r *Report) printCounts(w io.Writer) {
	fmt.Fprintf(w, "\n  %-12s%12s%12s\n", "at least", "gaps", "per second")
	for _, c := range r.Counts {
		fmt.Fprintf(w, "  %-12s%12d%12.2f\n", bound(c.AtLeast), c.N, float64(c.N)/max(r.Observed().Seconds(), 1e-9))
	}
}

// printCauses writes the causes by the time they took, the greatest first.
func (r *Report) printCauses(w io.Writer) {
	var causes []stall.Cause
	for c, t := range r.Causes {
		if t.N > 0 {
			causes = append(causes, stall.Cause(c))
		}
	}
	if len(causes) > 0 {
		fmt.Fprintf(w, "\n  %-20s%12s%16s%10s\n", "cause", "gaps", "time", "share")
	}
	slices.SortStableFunc(causes, func(a, b stall.Cause) int { return cmp.Compare(r.Causes[b].Time, r.Causes[a].Time) })
	for _, c := range causes {
		t := r.Causes[c]
		fmt.Fprintf(w, "  %-20s%12d%16v%8.2f%%\n", c, t.N, t.Time, share(t.Time, r.GapTime))
	}
	for _, l := range r.Limits {
		fmt.Fprintf(w, "\n  %s\n", l)
	}
}

// barWidth is the length of the longest bar.
const barWidth = 50

func (r *Report) printHistogram(w io.Writer) {
	first, last, most := len(r.Histogram), 0, uint64(0)
	for i, n := range r.Histogram {
		if n > 0 {
			first, last, most = min(first, i), i, max(most, n)
		}
	}
	if most == 0 {
		return
	}
	fmt.Fprintf(w, "\n  %-12s%12s\n", "from", "gaps")
	for i := first; i <= last; i++ {
		n := r.Histogram[i]
		bar := strings.Repeat("#", int((n*barWidth+most-1)/most))
		fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("  %-12s%12d  %s", power(i), n, bar), " "))
	}
}

// power writes 2^i nanoseconds with three digits.
func power(i int) string {
	v, units := float64(uint64(1)<<i), []string{"ns", "us", "ms", "s"}
	for len(units) > 1 && v >= 1000 {
		v, units = v/1000, units[1:]
	}
	return fmt.Sprintf("%.3g %s", v, units[0])
}

func share(part, of time.Duration) float64 {
	if of <= 0 {
		return 0
	}
	return 100 * float64(part) / float64(of)
}
