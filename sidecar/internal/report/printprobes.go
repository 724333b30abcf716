package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// probeTexts says how each probe ran, those that ran alike in one line.
func (x *Experiment) probeTexts() []string {
	type way struct {
		mode, note string
		floor      time.Duration
		target     int
	}
	var ways []way
	cpus := map[way][]int{}
	for _, p := range x.Probes {
		k := way{p.Mode, p.Note, p.Floor, p.Target}
		if cpus[k] == nil {
			ways = append(ways, k)
		}
		cpus[k] = append(cpus[k], p.CPU)
	}
	var texts []string
	for _, k := range ways {
		text := fmt.Sprintf("%s, %s, %s, gaps of %s and longer", printable(orMissing(k.mode)), x.place(k.target), cpuText(cpus[k]), textfmt.Length(k.floor))
		if k.note != "" {
			text += "; " + printable(k.note)
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		texts = []string{orMissing("")}
	}
	return texts
}

// place says in which process a probe runs.
func (x *Experiment) place(target int) string {
	if target == 0 {
		return "outside of the processes"
	}
	for i := range x.Targets {
		if x.Targets[i].ID == target {
			return fmt.Sprintf("within process %d", x.Targets[i].PID)
		}
	}
	return "within a process that is not named"
}

func cpuText(cpus []int) string {
	switch {
	case len(cpus) == 1 && cpus[0] < 0:
		return "not pinned"
	case len(cpus) == 1:
		return fmt.Sprintf("CPU %d", cpus[0])
	}
	words := make([]string, len(cpus))
	for i, cpu := range cpus {
		words[i] = fmt.Sprint(cpu)
	}
	return "CPUs " + strings.Join(words, ", ")
}

// printProbes writes what the probes saw: the first one outside and those inside
// of processes in full, the others as a row each.
func (x *Experiment) printProbes(w io.Writer) {
	var full, rows []*Probed
	outside := false
	for _, p := range x.Probes {
		if p.Inside() || !outside {
			full = append(full, p)
		} else {
			rows = append(rows, p)
		}
		outside = outside || !p.Inside()
	}
	for _, p := range full {
		title := "GAPS"
		if len(x.Probes) > 1 {
			title = fmt.Sprintf("GAPS, %s %s", strings.ToUpper(printable(p.Mode)), x.place(p.Target))
		}
		p.Gaps.print(w, title, x.At)
	}
	x.printOthers(w, rows)
	textfmt.Heading(w, "GAPS AND GARBAGE COLLECTION", "")
	for _, p := range full {
		x.printGC(w, p)
	}
}

// printOthers writes the probes of the other CPUs.
func (x *Experiment) printOthers(w io.Writer, rows []*Probed) {
	if len(rows) == 0 {
		return
	}
	textfmt.Heading(w, "GAPS ON OTHER CPUS", "")
	var t textfmt.Table
	long := longGapFrom
	for _, p := range rows {
		long = max(long, p.Gaps.longFrom())
	}
	t.Row("CPU", "probe", "observed", "gaps", "in all", "longest", textfmt.Length(long)+" or more")
	for _, p := range rows {
		g := &p.Gaps
		t.Row(fmt.Sprint(p.CPU), printable(p.Mode), textfmt.Length(g.Observed), textfmt.Count(g.Total), textfmt.Length(g.Time), textfmt.Length(g.Longest), textfmt.Count(g.Long))
	}
	t.Print(w)
	text := "There was no time in which every CPU stood still."
	if c := &x.Common; c.Total > 0 {
		text = fmt.Sprintf("Every CPU stood still %s, %s in all, the longest %s: that is in the gaps above.",
			textfmt.Many(c.Total, "time"), textfmt.Length(c.Time), textfmt.Length(c.Longest))
	}
	textfmt.Wrap(w, "  ", "  ", text)
}

func (c *GapCounts) print(w io.Writer, title string, since stall.Instant) {
	textfmt.Heading(w, title, fmt.Sprintf("%s observed, %s dropped", textfmt.Length(c.Observed), textfmt.Many(c.Dropped, "gap")))
	if c.Total == 0 {
		fmt.Fprintln(w, "  none")
		return
	}
	fmt.Fprintf(w, "  %s, %s in all, the longest %s\n\n", textfmt.Many(c.Total, "gap"), textfmt.Length(c.Time), textfmt.Length(c.Longest))
	var bounds textfmt.Table
	bounds.Row("at least", "gaps", "per second")
	for i, bound := range gapBounds {
		if bound < c.floor {
			continue
		}
		bounds.Row(textfmt.Length(bound), textfmt.Count(c.AtLeast[i]), fmt.Sprintf("%.3f", float64(c.AtLeast[i])/max(c.Observed.Seconds(), 1e-9)))
	}
	bounds.Print(w)
	fmt.Fprintln(w)
	c.printDecided(w)
	fmt.Fprintln(w)
	c.printWorst(w, since)
	fmt.Fprintln(w)
	c.printHistogram(w)
}

// barWidth is the length of the longest bar.
const barWidth = 50

func (c *GapCounts) printHistogram(w io.Writer) {
	t := textfmt.Table{Left: map[int]bool{2: true}}
	t.Row("from", "gaps", "")
	first, last, most := len(c.Histogram), 0, uint64(1)
	for i, n := range c.Histogram {
		if n > 0 {
			first, last, most = min(first, i), i, max(most, n)
		}
	}
	for i := first; i <= last; i++ {
		n := c.Histogram[i]
		t.Row(textfmt.Length(time.Duration(1)<<i), textfmt.Count(n), strings.Repeat("#", int((float64(n)*barWidth+float64(most)-1)/float64(most))))
	}
	t.Print(w)
}

// printGC says what garbage collection has to do with the long gaps of a probe.
func (x *Experiment) printGC(w io.Writer, p *Probed) {
	c := &p.Gaps
	text, long := "", textfmt.Length(c.longFrom())
	switch {
	case c.Long == 0:
		text = "no gap of " + long + " or more"
	case c.pauses == 0:
		text = fmt.Sprintf("No pause was seen that the %s of %s or more could be set against.", textfmt.Many(c.Long, "gap"), long)
	case p.Inside():
		bound := ""
		if c.AtMost {
			bound = "At most "
		}
		text = fmt.Sprintf("%s%s of the %s of %s or more are pauses for garbage collection: %s. %s fall together with a pause; by chance it would be %.1f.",
			bound, textfmt.Count(c.GC), textfmt.Many(c.Long, "gap"), long, percent(float64(c.GC)/float64(c.Long)), textfmt.Count(c.Overlapping), c.Expected)
	default:
		text = fmt.Sprintf("What share of the %s of %s or more is garbage collection: %s, since the probe is outside of the processes, and a pause "+
			"of theirs does not stop it. %s of them fall together with a pause; by chance it would be %.1f.",
			textfmt.Many(c.Long, "gap"), long, none, textfmt.Count(c.Overlapping), c.Expected)
	}
	first, indent := "  ", "  "
	if len(x.Probes) > 1 {
		first, indent = fmt.Sprintf("  %-10s", printable(p.Mode)), strings.Repeat(" ", 12)
	}
	textfmt.Wrap(w, first, indent, text)
	if c.longLeft > 0 {
		fmt.Fprintf(w, "  %s more were not compared\n", textfmt.Many(c.longLeft, "gap"))
	}
}
