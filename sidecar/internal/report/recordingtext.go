package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/internal/slowed"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall/gc"
)

// printExperiment writes a recording in the reporting format: machine, system,
// runtime, workload, results. What keeps others from getting the same comes
// first.
func (r *Report) printExperiment(w *textfmt.Page) {
	x := r.Experiment
	w.Title("A RECORDING WITH %v OF RESULTS", x.Duration().Round(time.Second))
	for _, why := range x.NotReproducible {
		w.Wrap("  NOT REPRODUCIBLE: ", "    ", why)
	}
	if len(x.NotReproducible) == 0 {
		w.Say("Nothing that is needed to do it again is missing.")
	}
	r.printIncomplete(w)
	w.Heading("WHAT RAN", "")
	w.Item("machine", "%s", orMissing(x.Machine))
	w.Item("os", "%s", orMissing(x.OS))
	for i := range x.Targets {
		w.Item("runtime", "%s", runtimeLine(&x.Targets[i]))
	}
	if len(x.Targets) == 0 {
		w.Item("runtime", "%s", orMissing(""))
	}
	w.Item("workload", "%s", orMissing(x.Workload))
	for _, text := range x.probeTexts() {
		w.Item("probe", "%s", text)
	}
	w.Item("warm-up", "%v, discarded", x.Warmup)
	w.Item("results", "%s, from %d to %d ns of %s", x.Duration(), x.Start, x.End, clockMonotonic)
	w.Item("recorded", "%s", x.made.Started.UTC().Format("2006-01-02 15:04:05 MST")+", by "+r.Source.Runtime)
	for i := range x.Targets {
		t := &x.Targets[i]
		w.Heading(strings.TrimSpace(fmt.Sprintf("PROCESS %d %s", t.PID, t.Name)), "")
		if t.Unwatched != "" {
			w.Say("%s", "its collections were not watched: "+t.Unwatched)
			continue
		}
		if seen := x.Watched[t.ID]; seen != nil && !x.Empty() {
			w.Say("watched for %s of %s, %s lost", x.watchedFor(t), x.Duration(), textfmt.Many(seen.Lost, "event"))
		}
		one := r.only(t.ID)
		one.draw(w)
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

func orMissing(s string) string { return cmp.Or(s, "missing") }

// runtimeLine returns all facts of a target, those that are missing too.
func runtimeLine(t *recording.Target) string {
	words := []string{}
	for _, name := range recording.RuntimeFacts[t.Runtime] {
		words = append(words, name+" "+orMissing(t.Facts[name]))
	}
	if build := t.Facts[recording.FactBuild]; build != "" {
		words = append(words, recording.FactBuild+" "+build)
	}
	text := fmt.Sprintf("process %d: %s", t.PID, t.Runtime)
	if len(words) > 0 {
		text += ": " + strings.Join(words, "; ")
	}
	return text
}

// slowedShown is how many of the slowed collections are named.
const slowedShown = 5

// printSlowed writes which collections the machine made pause long, and how, the longest
// first. Without any it writes nothing: of most collections it is not known.
func (r *Report) printSlowed(w *textfmt.Page) {
	var all []*Collection
	var sum slowed.Tally
	for _, c := range r.Collections {
		if c.SlowedBy != gc.NotSlowed {
			all = append(all, c)
			sum.Add(&c.Collection)
		}
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b *Collection) int { return cmp.Compare(b.PauseTotal(), a.PauseTotal()) })
	w.Heading("MADE LONG BY THE MACHINE", "")
	w.Say("%d of %s: %d by stolen CPU, %d by paging. Their pauses are not the collector's own.", len(all), textfmt.Many(len(r.Collections), "collection"), sum.StolenCPU, sum.Paging)
	for _, c := range all[:min(slowedShown, len(all))] {
		start, _, _ := pausesIn(&c.Collection)
		w.Wrap("  ", "    ", fmt.Sprintf("%d, at +%s: %s", c.Index, seconds(r.since(start)), c.SlowedWords))
	}
}

// probeTexts returns how each probe ran, those that ran alike in one line.
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
		text := textfmt.Sprintf("%s, %s, %s, gaps of %s and longer", orMissing(k.mode), x.place(k.target), place, k.floor)
		if k.note != "" {
			text += "; " + k.note
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		texts = []string{orMissing("")}
	}
	return texts
}

// place returns in which process a probe runs.
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
func (x *Experiment) printProbes(w *textfmt.Page) {
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
			title = fmt.Sprintf("GAPS, %s %s", strings.ToUpper(p.Mode), x.place(p.Target))
		}
		p.Gaps.Print(w, title, x.made.At)
	}
	x.printOthers(w, rows)
	w.Heading("GAPS AND GARBAGE COLLECTION", "")
	for _, p := range full {
		x.printGC(w, p)
	}
}

// printOthers writes the probes of the other CPUs.
func (x *Experiment) printOthers(w *textfmt.Page, rows []*Probe) {
	if len(rows) == 0 {
		return
	}
	w.Heading("GAPS ON OTHER CPUS", "")
	var t textfmt.Table
	long := time.Duration(0)
	for _, p := range rows {
		long = max(long, p.Gaps.LongFrom())
	}
	t.Row("CPU", "probe", "observed", "gaps", "in all", "longest", textfmt.Length(long)+" or more")
	for _, p := range rows {
		g := &p.Gaps
		t.Row(fmt.Sprint(p.CPU), p.Mode, g.Observed, g.Total, g.Time, g.Max, g.Long)
	}
	w.Table(&t)
	text := "There was no time in which every CPU stood still."
	if c := x.Common; c != nil {
		text = textfmt.Sprintf("Every CPU stood still %s, %s in all, the longest %s: that is in the gaps above.", textfmt.Many(c.Total, "time"), c.Time, c.Max)
	}
	w.Say("%s", text)
}

// printGC writes what garbage collection has to do with the long gaps of a probe.
func (x *Experiment) printGC(w *textfmt.Page, p *Probe) {
	c := &p.Gaps
	first, indent := "  ", "  "
	if len(x.Probes) > 1 {
		first, indent = fmt.Sprintf("  %-10s", p.Mode), strings.Repeat(" ", 12)
	}
	w.Wrap(first, indent, c.Comparison(p.Inside))
	if c.NotCompared > 0 {
		w.Say("%s more were not compared", textfmt.Many(c.NotCompared, "gap"))
	}
}
