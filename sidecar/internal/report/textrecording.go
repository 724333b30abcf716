package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// printExperiment writes a recording in the reporting format: machine, system,
// runtime, workload, results. What keeps others from getting the same comes
// first.
func (r *Report) printExperiment(w io.Writer) {
	x := r.Experiment
	fmt.Fprintf(w, "A RECORDING WITH %s OF RESULTS\n\n", x.Duration().Round(time.Second))
	for _, why := range x.NotReproducible {
		textfmt.Wrap(w, "  NOT REPRODUCIBLE: ", "    ", printable(why))
	}
	if len(x.NotReproducible) == 0 {
		fmt.Fprintln(w, "  Nothing that is needed to do it again is missing.")
	}
	r.printIncomplete(w)
	textfmt.Heading(w, "WHAT RAN", "")
	textfmt.Item(w, "machine", orMissing(x.Machine))
	textfmt.Item(w, "os", orMissing(x.OS))
	for i := range x.Targets {
		textfmt.Item(w, "runtime", runtimeLine(&x.Targets[i]))
	}
	if len(x.Targets) == 0 {
		textfmt.Item(w, "runtime", orMissing(""))
	}
	textfmt.Item(w, "workload", orMissing(x.Workload))
	for _, text := range x.probeTexts() {
		textfmt.Item(w, "probe", text)
	}
	textfmt.Item(w, "warm-up", fmt.Sprintf("%v, discarded", x.Warmup))
	textfmt.Item(w, "results", fmt.Sprintf("%s, from %d to %d ns of %s", textfmt.Length(x.Duration()), x.Start, x.End, clockMonotonic))
	textfmt.Item(w, "recorded", x.made.Started.UTC().Format("2006-01-02 15:04:05 MST")+", by "+printable(r.Source.Runtime))
	for i := range x.Targets {
		t := &x.Targets[i]
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(fmt.Sprintf("PROCESS %d %s", t.PID, printable(t.Name))))
		if t.Unwatched != "" {
			textfmt.Wrap(w, "  ", "  ", "its collections were not watched: "+printable(t.Unwatched))
			continue
		}
		if seen := x.Watched[t.ID]; seen != nil && !x.Empty() {
			fmt.Fprintf(w, "  watched for %s of %s, %s lost\n",
				textfmt.Length(x.watchedFor(t)), textfmt.Length(x.Duration()), textfmt.Many(seen.Lost, "event"))
		}
		one := r.only(t.ID)
		one.printKinds(w)
		one.printLongest(w)
		one.printSlowed(w)
		one.printSuspensions(w)
	}
	for _, h := range x.Hosts {
		h.print(w)
	}
	x.printProbes(w)
	x.printDoctor(w)
}

func orMissing(s string) string { return cmp.Or(printable(s), "missing") }

// runtimeLine says all facts of a target, those that are missing too.
func runtimeLine(t *recording.Target) string {
	words := []string{}
	for _, name := range recording.RuntimeFacts[t.Runtime] {
		words = append(words, name+" "+orMissing(t.Facts[name]))
	}
	if build := t.Facts[recording.FactBuild]; build != "" {
		words = append(words, recording.FactBuild+" "+printable(build))
	}
	text := fmt.Sprintf("process %d: %s", t.PID, printable(t.Runtime))
	if len(words) > 0 {
		text += ": " + strings.Join(words, "; ")
	}
	return text
}

// slowedShown is how many of the slowed collections are named.
const slowedShown = 5

// printSlowed says which collections the machine made pause long, the longest first,
// and by what. Without any it says nothing: of most nobody knows.
func (r *Report) printSlowed(w io.Writer) {
	var all []*Collection
	paging := 0
	for i := range r.Collections {
		c := &r.Collections[i]
		if c.SlowedBy != gc.NotSlowed {
			all = append(all, c)
		}
		if c.SlowedBy == gc.Paging {
			paging++
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b *Collection) int { return cmp.Compare(b.PauseTotal(), a.PauseTotal()) })
	textfmt.Heading(w, "MADE LONG BY THE MACHINE", "")
	textfmt.Wrap(w, "  ", "  ", fmt.Sprintf("%d of %s: %d by stolen CPU, %d by paging. Their pauses are not the collector's own.",
		len(all), textfmt.Many(len(r.Collections), "collection"), len(all)-paging, paging))
	for _, c := range all[:min(slowedShown, len(all))] {
		start, _, _ := pausesIn(&c.Collection)
		textfmt.Wrap(w, "  ", "    ", fmt.Sprintf("%d, at +%s: %s", c.Index, seconds(r.since(start)), c.SlowedWords))
	}
}

// print writes it, what the process was kept from running by first.
func (h *Host) print(w io.Writer) {
	how := "every switch of its threads was followed"
	if !h.Followed {
		how = "its threads were counted, not followed"
	}
	textfmt.Heading(w, fmt.Sprintf("WHAT THE MACHINE DID TO PROCESS %d", h.PID), fmt.Sprintf("%s, %s", textfmt.Length(h.Over), how))
	t := textfmt.Table{Left: map[int]bool{2: true}}
	part := func(name string, d time.Duration, what string) {
		t.Row(name, textfmt.Length(d), percent(float64(d)/float64(h.Over))+": "+what)
	}
	if h.Followed {
		part("held up", h.Denied, "a thread was ready, and none of the process ran")
		part("paging", h.Paged, "one waited for a page from disk, and none ran")
		part("not decided", h.Undecided, "one was ready while others ran")
		part("covered", h.Covered, "held up, paging, or left alone for certain")
	}
	t.Row("run delay", textfmt.Length(h.RunDelay), "threads were ready without a CPU, summed over them")
	if d, known := h.Throttled.Get(); known {
		t.Row("throttled", textfmt.Length(d), "by a quota of its cgroups, summed over CPUs")
	} else {
		t.Row("throttled", "", "not known: its cgroups could not be seen")
	}
	t.Row("stolen", textfmt.Length(h.Stolen), "of all CPUs, as far as the hypervisor admits it")
	t.Row("faults", textfmt.Count(h.MajorFaults), "pages came from disk")
	waited := func(p hostcount.Pressure) string {
		return fmt.Sprintf("for a CPU %s, for memory %s, for disks %s", textfmt.Length(p.CPU), textfmt.Length(p.Memory), textfmt.Length(p.IO))
	}
	t.Row("pressure", "", "of the machine: "+waited(hostcount.Pressure{CPU: h.Pressure, Memory: h.PressureMemory, IO: h.PressureIO}))
	if p, known := h.CgroupPressure.Get(); known {
		t.Row("", "", "of its cgroup: "+waited(p))
	}
	t.Print(w)
	if h.Dropped > 0 {
		fmt.Fprintf(w, "  %s of the scheduler were lost: that time is not covered\n", textfmt.Many(h.Dropped, "event"))
	}
}

// probeTexts says how each probe ran, those that ran alike in one line.
func (x *Experiment) probeTexts() (texts []string) {
	type way struct {
		mode, note string
		floor      time.Duration
		target     int
	}
	var ways []way
	cpus := map[way][]string{}
	for _, p := range x.Probes {
		k, cpu := way{p.Mode, p.Note, p.Floor, p.Target}, fmt.Sprint(p.CPU)
		if cpus[k] == nil {
			ways = append(ways, k)
		}
		if p.CPU < 0 {
			cpu = "not pinned"
		}
		cpus[k] = append(cpus[k], cpu)
	}
	for _, k := range ways {
		place := strings.Join(cpus[k], ", ")
		switch {
		case len(cpus[k]) > 1:
			place = "CPUs " + place
		case place != "not pinned":
			place = "CPU " + place
		}
		text := fmt.Sprintf("%s, %s, %s, gaps of %s and longer", orMissing(k.mode), x.place(k.target), place, textfmt.Length(k.floor))
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
	if t := x.target(target); t != nil {
		return fmt.Sprintf("within process %d", t.PID)
	}
	return "within a process that is not named"
}

// printProbes writes what the probes saw: the first one outside and those inside
// of processes in full, the others as a row each.
func (x *Experiment) printProbes(w io.Writer) {
	var full, rows []*Probe
	outside := false
	for _, p := range x.Probes {
		if p.Inside || !outside {
			full = append(full, p)
		} else {
			rows = append(rows, p)
		}
		outside = outside || !p.Inside
	}
	for _, p := range full {
		title := "GAPS"
		if len(x.Probes) > 1 {
			title = fmt.Sprintf("GAPS, %s %s", strings.ToUpper(printable(p.Mode)), x.place(p.Target))
		}
		p.Gaps.print(w, title, x.made.At)
	}
	x.printOthers(w, rows)
	textfmt.Heading(w, "GAPS AND GARBAGE COLLECTION", "")
	for _, p := range full {
		x.printGC(w, p)
	}
}

// printOthers writes the probes of the other CPUs.
func (x *Experiment) printOthers(w io.Writer, rows []*Probe) {
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
		t.Row(fmt.Sprint(p.CPU), printable(p.Mode), textfmt.Length(g.Observed), textfmt.Count(g.Total), textfmt.Length(g.Time), textfmt.Length(g.Max), textfmt.Count(g.Long))
	}
	t.Print(w)
	text := "There was no time in which every CPU stood still."
	if c := x.Common; c != nil {
		text = fmt.Sprintf("Every CPU stood still %s, %s in all, the longest %s: that is in the gaps above.",
			textfmt.Many(c.Total, "time"), textfmt.Length(c.Time), textfmt.Length(c.Max))
	}
	textfmt.Wrap(w, "  ", "  ", text)
}

func (c *Gaps) print(w io.Writer, title string, since stall.Instant) {
	textfmt.Heading(w, title, fmt.Sprintf("%s observed, %s dropped", textfmt.Length(c.Observed), textfmt.Many(c.Dropped, "gap")))
	if c.Total == 0 {
		fmt.Fprintln(w, "  none")
		return
	}
	fmt.Fprintf(w, "  %s, %s in all, the longest %s\n\n", textfmt.Many(c.Total, "gap"), textfmt.Length(c.Time), textfmt.Length(c.Max))
	var t textfmt.Table
	t.Row("at least", "gaps", "per second")
	for _, b := range bounds {
		if n, ok := c.Counts[b.name]; ok {
			t.Row(textfmt.Length(b.atLeast), textfmt.Count(n), fmt.Sprintf("%.3f", float64(n)/max(c.Observed.Seconds(), 1e-9)))
		}
	}
	t.Print(w)
	fmt.Fprintln(w)
	c.printDecided(w)
	fmt.Fprintln(w)
	name := "longest"
	for i := range c.Longest {
		g := &c.Longest[i]
		text := g.Cause.String()
		if g.Evidence != "" {
			text += ": " + printable(g.Evidence)
		}
		first := fmt.Sprintf("  %-8s%8s  at +%s  ", name, textfmt.Length(g.Duration()), seconds(g.Start.Sub(since)))
		textfmt.Wrap(w, first, strings.Repeat(" ", len(first)), text)
		name = ""
	}
	fmt.Fprintln(w)
	c.printHistogram(w)
}

// printDecided writes the causes and what decided them, by the time they took.
func (c *Gaps) printDecided(w io.Writer) {
	all := slices.SortedFunc(maps.Keys(c.decided), func(a, b decision) int {
		return cmp.Or(cmp.Compare(c.decided[b].time, c.decided[a].time), cmp.Compare(a.cause, b.cause), cmp.Compare(a.witness, b.witness))
	})
	t := textfmt.Table{Left: map[int]bool{1: true}}
	t.Row("cause", "decided by", "gaps", "in all")
	for _, d := range all {
		by := strings.ReplaceAll(d.by(), "_", " ")
		if !d.bare && d.witness == jitterprobe.NoWitness {
			by = "nothing"
		}
		t.Row(d.cause.String(), by, textfmt.Count(c.decided[d].gaps), textfmt.Length(c.decided[d].time))
	}
	t.Print(w)
}

// barWidth is the length of the longest bar.
const barWidth = 50

func (c *Gaps) printHistogram(w io.Writer) {
	t := textfmt.Table{Left: map[int]bool{2: true}}
	t.Row("from", "gaps", "")
	buckets := slices.Sorted(maps.Keys(c.Histogram))
	most := uint64(1)
	for _, n := range c.Histogram {
		most = max(most, n)
	}
	for i := buckets[0]; i <= buckets[len(buckets)-1]; i++ {
		n := c.Histogram[i]
		t.Row(textfmt.Length(time.Duration(1)<<i), textfmt.Count(n), strings.Repeat("#", int((float64(n)*barWidth+float64(most)-1)/float64(most))))
	}
	t.Print(w)
}

// printGC says what garbage collection has to do with the long gaps of a probe.
func (x *Experiment) printGC(w io.Writer, p *Probe) {
	c := &p.Gaps
	long := textfmt.Length(c.longFrom())
	gaps := textfmt.Many(c.Long, "gap")
	text := "no gap of " + long + " or more"
	switch {
	case c.Long == 0:
	case c.pauses == 0:
		text = fmt.Sprintf("No pause was seen that the %s of %s or more could be set against.", gaps, long)
	case p.Inside:
		bound := ""
		if c.AtMost {
			bound = "At most "
		}
		text = fmt.Sprintf("%s%s of the %s of %s or more are pauses for garbage collection: %s. %s fall together with a pause; by chance it would be %.1f.",
			bound, textfmt.Count(c.gc), gaps, long, orNone(c.GC, percent), textfmt.Count(c.Overlapping), c.Expected)
	default:
		text = fmt.Sprintf("What share of the %s of %s or more is garbage collection: %s, since the probe is outside of the processes, and a pause "+
			"of theirs does not stop it. %s of them fall together with a pause; by chance it would be %.1f.",
			gaps, long, none, textfmt.Count(c.Overlapping), c.Expected)
	}
	first, indent := "  ", "  "
	if len(x.Probes) > 1 {
		first, indent = fmt.Sprintf("  %-10s", printable(p.Mode)), strings.Repeat(" ", 12)
	}
	textfmt.Wrap(w, first, indent, text)
	if c.NotCompared > 0 {
		fmt.Fprintf(w, "  %s more were not compared\n", textfmt.Many(c.NotCompared, "gap"))
	}
}

func (x *Experiment) printDoctor(w io.Writer) {
	textfmt.Heading(w, "THE DOCTOR", "")
	switch {
	case !x.Examined:
		fmt.Fprintln(w, "  was not asked")
	case len(x.Failed) == 0:
		fmt.Fprintln(w, "  found nothing that makes these numbers unbelievable")
	default:
		textfmt.Wrap(w, "  ", "  ", "failed: "+printable(strings.Join(x.Failed, ", ")))
	}
	if x.ExaminedLater {
		fmt.Fprintln(w, "  was asked for this report, since the recording has no answers")
	}
	for i := range x.Warned {
		v := &x.Warned[i]
		first := fmt.Sprintf("  warned of %-18s", printable(v.ID))
		text := printable(v.Value)
		if v.PID != 0 && len(x.Targets) > 1 {
			text = fmt.Sprintf("process %d: %s", v.PID, text)
		}
		textfmt.Wrap(w, first, strings.Repeat(" ", len(first)), text)
	}
	if n := len(x.Unexamined); n > 0 {
		const most = 8
		words := make([]string, 0, most)
		for _, pid := range x.Unexamined[:min(n, most)] {
			words = append(words, fmt.Sprint(pid))
		}
		if n > most {
			words = append(words, fmt.Sprintf("%d more", n-most))
		}
		textfmt.Wrap(w, "  ", "  ", "was not asked about process "+strings.Join(words, ", ")+": it had ended, or there were too many")
	}
}
