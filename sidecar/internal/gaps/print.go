package gaps

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// Print writes the report as text, at most as wide as the terminal or 100 columns.
func (r *Report) Print(to io.Writer) error {
	w := textfmt.NewText(to)
	r.printHead(w)
	r.printCounts(w)
	r.printCauses(w)
	r.printHistogram(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// nameWidth is where the values of the head begin.
const nameWidth = 13

// line writes a named line of the head, wrapped.
func line(w io.Writer, name, format string, args ...any) {
	textfmt.Wrap(w, fmt.Sprintf("  %-*s", nameWidth-2, name), strings.Repeat(" ", nameWidth), fmt.Sprintf(format, args...))
}

func (r *Report) printHead(w io.Writer) {
	where := "not pinned"
	if r.CPU >= 0 {
		where = fmt.Sprintf("CPU %d", r.CPU)
	}
	fmt.Fprintf(w, "GAPS OF THIS MACHINE, %s\n\n", textfmt.Length(r.Observed()))
	line(w, "mode", "%s, %s, threshold %s, clock %s", r.Mode, where, bound(r.Threshold), clockName)
	if r.Note != "" {
		line(w, "", "%s", r.Note)
	}
	if r.Loop > 0 {
		line(w, "loop", "%.2f ns; looks and gaps make up %.2f %% of the time", r.Loop, 100*r.Balance)
	}
	line(w, "covered", "%.3f %%; %s dropped (%s)", 100*r.Covered(), textfmt.Many(r.Dropped, "gap"), textfmt.Length(r.DroppedTime))
	line(w, "lost", "%s in %s, %.3f %% of the time", textfmt.Length(r.GapTime), textfmt.Many(r.Gaps, "gap"), share(r.GapTime, r.Observed()))
	if r.Gaps > 0 {
		line(w, "longest", "%s, %.3f s after the start, %s",
			textfmt.Length(r.Longest.Duration()), r.Longest.Start.Sub(r.Start).Seconds(), r.Longest.Cause)
		if e := r.Longest.Evidence.String(); e != "" {
			line(w, "", "%s", e)
		}
	}
	if r.Backward > 0 {
		line(w, "backward", "%s lost, in which the counter ran backward", textfmt.Many(r.Backward, "gap"))
	}
}

// counted is what the counts and the histogram are of: a probe that wakes up
// counts each wake-up that a gap swallowed, or who reads them would take one long
// gap for one late wake-up.
func (r *Report) counted() string {
	if r.Mode == jitterprobe.Periodic {
		return "late"
	}
	return "gaps"
}

// counts leaves out what lies below the threshold: shorter gaps were not looked
// for, so that those numbers would be of longer ones alone.
func (r *Report) counts() []jitterprobe.Count {
	return slices.DeleteFunc(slices.Clone(r.Counts[:]), func(c jitterprobe.Count) bool { return c.AtLeast < r.Threshold })
}

func (r *Report) printCounts(w io.Writer) {
	fmt.Fprintf(w, "\n  %-12s%12s%12s\n", "at least", r.counted(), "per second")
	for _, c := range r.counts() {
		fmt.Fprintf(w, "  %-12s%12d%12.2f\n", bound(c.AtLeast), c.N, float64(c.N)/max(r.Observed().Seconds(), 1e-9))
	}
	if r.Mode == jitterprobe.Periodic {
		fmt.Fprintln(w)
		textfmt.Wrap(w, "  ", "  ", "Late wake-ups are counted here and in the histogram: a gap counts once for each wake-up that it swallowed, with the lateness of that one.")
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
		fmt.Fprintf(w, "\n  %-20s%12s%12s%10s\n", "cause", "gaps", "time", "share")
	}
	slices.SortStableFunc(causes, func(a, b stall.Cause) int { return cmp.Compare(r.Causes[b].Time, r.Causes[a].Time) })
	for _, c := range causes {
		t := r.Causes[c]
		fmt.Fprintf(w, "  %-20s%12d%12s%9.2f%%\n", c, t.N, textfmt.Length(t.Time), share(t.Time, r.GapTime))
	}
	for _, l := range r.Limits {
		fmt.Fprintln(w)
		textfmt.Wrap(w, "  ", "  ", l.String())
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
	fmt.Fprintf(w, "\n  %-12s%12s\n", "from", r.counted())
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
