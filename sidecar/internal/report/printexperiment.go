package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/recording"
	"github.com/otelgc/otelgc/stall"
)

// printExperiment writes a recording in the reporting format: machine, system,
// runtime, workload, results. What keeps others from getting the same comes
// first.
func (r *Report) printExperiment(w io.Writer) {
	x := r.Experiment
	fmt.Fprintf(w, "A RECORDING WITH %s OF RESULTS\n\n", x.Results.Duration().Round(time.Second))
	for _, why := range x.NotReproducible {
		wrap(w, "  NOT REPRODUCIBLE: ", "    ", why)
	}
	if len(x.NotReproducible) == 0 {
		fmt.Fprintln(w, "  Nothing that is needed to do it again is missing.")
	}
	if len(r.Incomplete) > 0 {
		r.printIncomplete(w)
	}
	heading(w, "WHAT RAN", "")
	item(w, "machine", orMissing(x.Machine))
	item(w, "os", orMissing(x.OS))
	for i := range x.Targets {
		item(w, "runtime", runtimeLine(&x.Targets[i]))
	}
	if len(x.Targets) == 0 {
		item(w, "runtime", orMissing(""))
	}
	item(w, "workload", orMissing(printable(x.Workload)))
	item(w, "probe", x.probeText())
	item(w, "warm-up", fmt.Sprintf("%v, discarded", x.Warmup))
	item(w, "results", fmt.Sprintf("%s, from %d to %d ns of %s", length(x.Results.Duration()), x.Results.Start, x.Results.End, clockMonotonic))
	item(w, "recorded", x.Started.UTC().Format("2006-01-02 15:04:05 MST")+", by "+r.Source.Runtime)
	for i := range x.Targets {
		t := &x.Targets[i]
		one := r.only(t.ID)
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(fmt.Sprintf("PROCESS %d %s", t.PID, printable(t.Name))))
		one.printKinds(w)
		one.printLongest(w)
		one.printSuspensions(w)
	}
	x.Gaps.print(w)
	x.printGC(w)
	x.printDoctor(w)
}

func orMissing(s string) string {
	if s == "" {
		return "missing"
	}
	return s
}

// runtimeLine says all facts of a target, those that are missing too.
func runtimeLine(t *recording.Target) string {
	words := []string{}
	names := recording.RuntimeFacts[t.Runtime]
	for _, name := range names {
		value := t.Facts[name]
		if value == "" {
			value = "missing"
		}
		words = append(words, name+" "+printable(value))
	}
	return fmt.Sprintf("process %d: %s: %s", t.PID, printable(t.Runtime), strings.Join(words, "; "))
}

func (x *Experiment) probeText() string {
	where := "outside of the processes"
	if x.Inside {
		where = "within the process"
	}
	cpu := "not pinned"
	if x.CPU >= 0 {
		cpu = fmt.Sprintf("CPU %d", x.CPU)
	}
	return fmt.Sprintf("%s, %s, %s, gaps of %s and longer", printable(orMissing(x.Probe)), where, cpu, length(x.Floor))
}

func (c *GapCounts) print(w io.Writer) {
	heading(w, "GAPS", fmt.Sprintf("%s observed, %s dropped", length(c.Observed), many(c.Dropped, "gap")))
	if c.Total == 0 {
		fmt.Fprintln(w, "  none")
		return
	}
	fmt.Fprintf(w, "  %s, %s in all, the longest %s\n", many(c.Total, "gap"), length(c.Time), length(c.Longest))
	var g grid
	g.add("at least", "gaps", "per second")
	for i, bound := range gapBounds {
		g.add(length(bound), count(c.AtLeast[i]), fmt.Sprintf("%.3f", float64(c.AtLeast[i])/max(c.Observed.Seconds(), 1e-9)))
	}
	fmt.Fprintln(w)
	g.print(w)
	causes := grid{}
	causes.add("cause", "gaps")
	for cause, n := range c.Causes {
		if n > 0 {
			causes.add(stall.Cause(cause).String(), count(n))
		}
	}
	fmt.Fprintln(w)
	causes.print(w)
	fmt.Fprintln(w)
	c.printHistogram(w)
}

// barWidth is the length of the longest bar.
const barWidth = 50

func (c *GapCounts) printHistogram(w io.Writer) {
	g := grid{left: map[int]bool{2: true}}
	g.add("from", "gaps", "")
	first, last, most := len(c.Histogram), 0, uint64(1)
	for i, n := range c.Histogram {
		if n > 0 {
			first, last, most = min(first, i), i, max(most, n)
		}
	}
	for i := first; i <= last; i++ {
		n := c.Histogram[i]
		g.add(length(time.Duration(1)<<i), count(n), strings.Repeat("#", int((float64(n)*barWidth+float64(most)-1)/float64(most))))
	}
	g.print(w)
}

// printGC says what garbage collection has to do with the long gaps.
func (x *Experiment) printGC(w io.Writer) {
	c := &x.Gaps
	heading(w, "GAPS AND GARBAGE COLLECTION", "")
	switch {
	case c.Long == 0:
		fmt.Fprintf(w, "  no gap of %s or more\n", length(LongGap))
		return
	case x.Inside:
		wrap(w, "  ", "  ", fmt.Sprintf("%s of the %s of %s or more fall together with a pause: %s. By chance it would be %.1f.",
			count(c.Overlapping), many(c.Long, "gap"), length(LongGap), percent(float64(c.Overlapping)/float64(c.Long)), c.Expected))
	default:
		wrap(w, "  ", "  ", fmt.Sprintf("What share of the %s of %s or more is garbage collection: %s, since the probe is outside of the processes, and a pause "+
			"of theirs does not stop it. %s of them fall together with a pause; by chance it would be %.1f.",
			many(c.Long, "gap"), length(LongGap), none, count(c.Overlapping), c.Expected))
	}
	if c.longLeft > 0 {
		fmt.Fprintf(w, "  %s more were not compared\n", many(c.longLeft, "gap"))
	}
}

func (x *Experiment) printDoctor(w io.Writer) {
	heading(w, "THE DOCTOR", "")
	switch {
	case !x.Examined:
		fmt.Fprintln(w, "  was not asked")
	case len(x.Failed) == 0:
		fmt.Fprintln(w, "  found nothing that makes these numbers unbelievable")
	default:
		wrap(w, "  ", "  ", "failed: "+printable(strings.Join(x.Failed, ", ")))
	}
}
