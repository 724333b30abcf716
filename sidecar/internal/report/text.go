package report

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Print writes the report as text, at most textfmt.Width columns wide where no single
// word is wider.
func (r *Report) Print(to io.Writer) error {
	w := bufio.NewWriter(to)
	r.print(w)
	return printed(w.Flush())
}

// PrintHTML writes the same as a page for a browser.
func (r *Report) PrintHTML(to io.Writer) error {
	h := textfmt.NewHTML(to, r.name()+" - otelgc-sidecar report")
	r.print(h)
	return printed(h.Close())
}

func printed(err error) error {
	if err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

func (r *Report) name() string { return printable(filepath.Base(r.Source.File)) }

func (r *Report) print(w io.Writer) {
	if r.Experiment != nil {
		r.printExperiment(w)
		return
	}
	fmt.Fprintf(w, "WHAT %s STOPPED FOR\n\n", r.name())
	textfmt.Wrap(w, "  ", "  ", r.sentence())
	r.printIncomplete(w)
	r.printSource(w)
	r.printKinds(w)
	r.printRollup(w)
	r.printHeap(w)
	r.printAllocations(w)
	r.printRequests(w)
	r.printLongest(w)
	r.printSuspensions(w)
	r.printSession(w)
}

// sentence says the whole in one.
func (r *Report) sentence() string {
	if len(r.Collections) == 0 {
		return "No garbage collection is in this file."
	}
	text := fmt.Sprintf("%s stopped the program for %s in all", textfmt.Many(len(r.Collections), "garbage collection"), textfmt.Length(r.Summary.Pause))
	if share, ok := r.Summary.PauseShare.Get(); ok {
		text += fmt.Sprintf(", %s of the %s in this file", percent(share), textfmt.Length(r.Source.Duration()))
	}
	if worst := r.longest(1); len(worst) > 0 {
		text += fmt.Sprintf("; the longest pause was %s, at +%s", textfmt.Length(worst[0].Pause.Duration()), seconds(r.since(worst[0].Pause.Start)))
	}
	return text + "."
}

// shownHoles, shownPauses, shownCallers and shownAllocators bound what is printed of
// long lists.
const (
	shownHoles      = 10
	shownPauses     = 10
	shownCallers    = 3
	shownAllocators = 10
)

func (r *Report) printIncomplete(w io.Writer) {
	if len(r.Incomplete) == 0 {
		return
	}
	textfmt.Heading(w, "NOT IN THIS FILE", "")
	for i, h := range r.Incomplete {
		place := ""
		switch {
		case i == shownHoles:
			textfmt.Item(w, "", fmt.Sprintf("and %s more (all of them with --json)", textfmt.Count(len(r.Incomplete)-i)))
			return
		case h.Start != 0:
			place = fmt.Sprintf("+%.3f s", r.since(h.Start).Seconds())
		case h.End != 0:
			place = fmt.Sprintf("to +%.3f s", r.since(h.End).Seconds())
		}
		textfmt.Item(w, place, printable(h.Why))
	}
}

func (r *Report) printSource(w io.Writer) {
	s := &r.Source
	textfmt.Heading(w, "THE FILE", "")
	textfmt.Item(w, "format", fmt.Sprintf("%s, %s bytes", s.Format, textfmt.Count(s.Bytes)))
	facts := s.Runtime
	if s.PID > 0 {
		facts += fmt.Sprintf(", pid %d", s.PID)
	}
	if s.OS != "" {
		facts += strings.TrimRight(", "+s.OS+" "+s.Arch, " ")
	}
	if s.CPUs > 0 {
		facts += ", " + textfmt.Many(s.CPUs, "CPU")
	}
	if s.PointerSize > 0 {
		facts += fmt.Sprintf(", %d-bit", 8*s.PointerSize)
	}
	textfmt.Item(w, "runtime", printable(facts))
	if s.Command != "" {
		textfmt.Item(w, "command", printable(s.Command))
	}
	covers := fmt.Sprintf("%s, from %d to %d ns", textfmt.Length(s.Duration()), s.Start, s.End)
	if !s.Recorded.IsZero() {
		covers += "; recorded " + s.Recorded.Format("2006-01-02 15:04:05.000 MST")
	}
	textfmt.Item(w, "covers", covers)
	clock := "the file's own: it can be compared with nothing else"
	if s.Clock == clockMonotonic {
		clock = clockMonotonic + " of the machine's boot"
		if s.dotnet && s.OS == "" {
			clock = clockMonotonic + ", if it was recorded on Linux: the file does not say"
		}
	}
	if s.Tick > 0 && s.Tick != monotonicHz {
		clock += fmt.Sprintf("; %s ticks a second, scaled to ns", textfmt.Count(s.Tick))
	}
	textfmt.Item(w, "clock", clock)
}

func (r *Report) printKinds(w io.Writer) {
	textfmt.Heading(w, "PAUSES", fmt.Sprintf("one sample for each stop; %s: fewer than %d samples lie beyond it", none, beyond))
	if len(r.Summary.Pauses) == 0 {
		fmt.Fprintln(w, "  none")
		return
	}
	var g textfmt.Table
	g.Row("kind", "stops", "p50", "p90", "p99", "p99.9", "max", "total")
	for kind := range gc.NumKinds {
		if s, ok := r.Summary.Pauses[kind.String()]; ok {
			g.Row(kind.String(), textfmt.Count(s.Count), orNone(s.P50, textfmt.Length), orNone(s.P90, textfmt.Length),
				orNone(s.P99, textfmt.Length), orNone(s.P999, textfmt.Length), textfmt.Length(s.Max), textfmt.Length(s.Total))
		}
	}
	g.Print(w)
	// In fidelity cycle only the sum of the pauses is the runtime's own figure.
	n := 0
	for i := range r.Collections {
		if c := &r.Collections[i]; c.Fidelity == stall.Cycle && len(c.Pauses) > 1 {
			n += len(c.Pauses)
		}
	}
	if n > 0 {
		textfmt.Wrap(w, "  ", "  ", fmt.Sprintf("%s of these are of collections that were not traced. The sum of a collection's pauses is exact; "+
			"how long each of them took is not: the last one has what it took at least.", textfmt.Count(n)))
	}
}

func (r *Report) printRollup(w io.Writer) {
	if len(r.Collections) == 0 {
		return
	}
	textfmt.Heading(w, "COLLECTIONS", "pauses are sums per collection")
	var g textfmt.Table
	if r.Source.dotnet {
		g.Row("", "", "", "max", "mean", "total", "", "mean", "mean free")
		g.Row("", "count", "induced", "pause", "pause", "pause", "promoted", "survival", "after")
	} else {
		g.Row("", "", "max", "mean", "total", "mean heap", "mean live")
		g.Row("", "count", "pause", "pause", "pause", "before", "after")
	}
	for _, row := range r.Summary.Rollup {
		head := []string{row.Title, textfmt.Count(row.Count)}
		pauses := []string{textfmt.Length(row.MaxPause), textfmt.Length(row.MeanPause), textfmt.Length(row.Pause)}
		heap := []string{orNone(row.HeapBefore, size), orNone(row.HeapAfter, size)}
		if r.Source.dotnet {
			head = append(head, textfmt.Count(row.Induced))
			heap = []string{orNone(row.Promoted, size), orNone(row.Survival, percent), orNone(row.Fragmentation, percent)}
		}
		g.Row(slices.Concat(head, pauses, heap)...)
	}
	g.Print(w)
}

// printHeap writes what each generation held.
func (r *Report) printHeap(w io.Writer) {
	var g textfmt.Table
	g.Row("", "", "size", "largest", "free", "mean", "mean")
	g.Row("", "collected", "at last", "after", "at last", "free", "survival")
	rows := 0
	for id := range gc.NumGenerations {
		var last *gc.Generation
		var largest gc.Maybe[gc.Bytes] // after a collection
		var free, survival mean
		collected := 0 // as far as the file tells
		for i := range r.Collections {
			g := part(&r.Collections[i].Collection, id)
			if g == nil {
				continue
			}
			last = g
			if size, ok := g.SizeAfter.Get(); ok {
				largest = gc.Known(max(size, largest.Or(0)))
			}
			if !g.Survived.IsZero() || !g.Promoted.IsZero() {
				collected++
			}
			free.add(ratio(g.FragmentationAfter, g.SizeAfter))
			survival.add(survivalOf(*g))
		}
		if last == nil {
			continue
		}
		rows++
		g.Row(id.String(), textfmt.Many(collected, "time"), orNone(last.SizeAfter, size), orNone(largest, size),
			orNone(ratio(last.FragmentationAfter, last.SizeAfter), percent), orNone(free.value(), percent), orNone(survival.value(), percent))
	}
	if rows > 0 {
		textfmt.Heading(w, "THE HEAP", "sizes after a collection; poh: the pinned object heap")
		g.Print(w)
	}
}

// printAllocations writes who allocated the most.
func (r *Report) printAllocations(w io.Writer) {
	d := r.Allocations
	if d == nil {
		return
	}
	textfmt.Heading(w, "WHO ALLOCATED", "sampled: an event about every 100 kB, put down to the thread that fired it")
	var g textfmt.Table
	g.Row("thread", "events", "small", "large", "pinned", "of all")
	for i := range d.Threads[:min(shownAllocators, len(d.Threads))] {
		t := &d.Threads[i]
		name := fmt.Sprint(t.Thread)
		if t.Thread == 0 {
			name = "others"
		}
		g.Row(name, textfmt.Count(t.Samples), size(gc.Bytes(t.SOH)), size(gc.Bytes(t.LOH)), size(gc.Bytes(t.POH)),
			percent(share(t.bytes(), d.Bytes).Or(0)))
	}
	g.Print(w)
	if more := len(d.Threads) - shownAllocators; more > 0 {
		fmt.Fprintf(w, "  and %s more (all of them with --json)\n", textfmt.Many(more, "thread"))
	}
}

func (r *Report) printRequests(w io.Writer) {
	if len(r.Summary.Requests) == 0 {
		return
	}
	textfmt.Heading(w, "REQUESTS", "percent; pauses count in full: one that fell while a request waited cost it nothing")
	var g textfmt.Table
	g.Row("", "", "", "", "hit by", "hit by", "GC of", "GC of")
	g.Row("latency", "up to", "requests", "in all", "GC", "several", "their time", "all time")
	of := func(part, whole time.Duration) string { return percent(share(part, whole).Or(0)) }
	for _, b := range r.Summary.Requests {
		n := time.Duration(b.Count)
		g.Row(b.Title, textfmt.Length(b.UpTo), textfmt.Count(b.Count), textfmt.Length(b.Time), of(time.Duration(b.Hit), n), of(time.Duration(b.Several), n),
			of(b.GC, b.HitTime), of(b.GC, b.Time))
	}
	g.Print(w)
	fmt.Fprintln(w, "  requests that package otelgc marked and that lie in the trace from begin to end")
}

// stop is one pause with the collection it belongs to.
type stop struct {
	*gc.Collection
	gc.Pause
	number int // of the collection in the file, from 1
}

// longest returns the n longest pauses, the longest first.
func (r *Report) longest(n int) (list []stop) {
	for i := range r.Collections {
		c := &r.Collections[i].Collection
		for _, p := range c.Pauses {
			at := len(list)
			for at > 0 && list[at-1].Pause.Duration() < p.Duration() {
				at--
			}
			if at < n {
				list = slices.Insert(list[:min(len(list), n-1)], at, stop{c, p, i + 1})
			}
		}
	}
	return list
}

// since returns the time from the beginning of the file.
func (r *Report) since(t stall.Instant) time.Duration { return t.Sub(r.Source.Start) }

func (r *Report) printLongest(w io.Writer) {
	list := r.longest(shownPauses)
	if len(list) == 0 {
		return
	}
	textfmt.Heading(w, "THE LONGEST PAUSES", "when, in which collection, and why there was one")
	g := textfmt.Table{Left: map[int]bool{2: true, 3: true}}
	details := detailsOf(list)
	upper, lower := make([]string, 4), make([]string, 4)
	for _, d := range details {
		upper, lower = append(upper, d.upper), append(lower, d.lower)
	}
	if len(details) > 0 {
		g.Row(upper...)
		g.Row(lower...)
	}
	for i := range list {
		s := &list[i]
		cells := []string{textfmt.Length(s.Pause.Duration()), "at +" + seconds(r.since(s.Pause.Start)), s.name(), s.why()}
		for _, d := range details {
			cells = append(cells, d.of(s))
		}
		g.Row(cells...)
	}
	g.Print(w)
}

// detail is a column about pauses, under two words.
type detail struct {
	upper, lower string
	has          func(*stop) bool // the column says something of the pause
	of           func(*stop) string
}

// details are the columns that there can be. What the machine took of a pause is
// said of each for which it is known: that a collection was long for its work takes
// others to compare it with, and the rare kinds have none.
var details = []detail{
	{"of it to", "suspend", (*stop).placed, func(s *stop) string { return orNone(s.Suspend, textfmt.Length) }},
	{
		"without", "a CPU", func(s *stop) bool { return s.Pause.HostDuring.CPUWait.Or(0) > 0 },
		func(s *stop) string { return orNone(s.Pause.HostDuring.CPUWait, textfmt.Length) },
	},
	{
		"for pages", "from disk", func(s *stop) bool { return s.Pause.HostDuring.PageWait.Or(0) > 0 },
		func(s *stop) string { return orNone(s.Pause.HostDuring.PageWait, textfmt.Length) },
	},
	{"perhaps", "longer by", (*stop).placed, func(s *stop) string { return textfmt.Length(s.longer()) }},
}

// detailsOf returns the columns that have something to say of a pause.
func detailsOf(list []stop) (all []detail) {
	for _, d := range details {
		if slices.ContainsFunc(list, func(s stop) bool { return d.has(&s) }) {
			all = append(all, d)
		}
	}
	return all
}

func (s *stop) placed() bool { return !s.Suspend.IsZero() || s.longer() > 0 }

// longer returns by how much the pause may have been longer. A Go trace has
// goroutines run by the end: that the runtime stamps its own later says nothing.
func (s *stop) longer() time.Duration {
	if s.Origin == stall.GoTrace {
		return 0
	}
	return max(0, s.EndMax.Sub(s.Pause.End))
}

// collectionName names a collection by the process's count, or else the file's.
func collectionName(index uint64, number int) string {
	if index > 0 {
		return fmt.Sprintf("GC %d", index)
	}
	return fmt.Sprintf("#%d", number)
}

// name says which collection it is.
func (s *stop) name() string {
	name := collectionName(s.Index, s.number)
	if g, ok := s.Generation.Get(); ok {
		name += fmt.Sprintf(", gen %d", g)
	}
	return name + " " + strings.ReplaceAll(s.Kind.String(), "_", " ")
}

// why says in what part of the collection, and why there was one.
func (s *stop) why() string {
	text := printable(string(s.Trigger))
	if s.Trigger.IsZero() {
		text = "trigger not known"
	}
	if s.Phase != gc.PhaseUnknown {
		text = strings.ReplaceAll(s.Phase.String(), "_", " ") + ", " + text
	}
	if s.TriggerSite != "" {
		text += " by " + printable(s.TriggerSite)
	}
	return text
}

func (r *Report) printSuspensions(w io.Writer) {
	textfmt.Heading(w, "STOPS THAT WERE NOT FOR GARBAGE COLLECTION", "")
	list := r.reasons()
	if len(list) == 0 {
		fmt.Fprintln(w, "  none")
		return
	}
	g := textfmt.Table{Left: map[int]bool{5: true}}
	g.Row("reason", "stops", "p50", "max", "total", "by")
	for _, s := range list {
		shown := min(len(s.callers), shownCallers)
		by := printable(strings.Join(s.callers[:shown], ", "))
		if more := len(s.callers) - shown; more > 0 {
			by += fmt.Sprintf(" and %s more", textfmt.Count(more))
		}
		g.Row(printable(s.name), textfmt.Count(s.Count), orNone(s.P50, textfmt.Length), textfmt.Length(s.Max), textfmt.Length(s.Total), by)
	}
	g.Print(w)
}

// printSession writes the facts of the whole session.
func (r *Report) printSession(w io.Writer) {
	if len(r.Collections) == 0 {
		return
	}
	s := r.Summary
	textfmt.Heading(w, "THE SESSION", "")
	r.printCounts(w)
	textfmt.Item(w, "paused", fmt.Sprintf("%s of the time in this file, %s, with what it took to stop the threads", orNone(s.PauseShare, percent), textfmt.Length(s.Pause)))
	if shares := r.timeInGC(); len(shares) > 0 {
		worst := shares[0]
		for _, s := range shares {
			if s.share > worst.share {
				worst = s
			}
		}
		textfmt.Item(w, "% in GC", fmt.Sprintf("%s at the last collection, at most %s (%s): as the runtime's own counter has it, "+
			"from one collection to the next. It leaves out the %s that it took to stop the threads, and counts as GC what paging "+
			"and lost CPU took in a pause", orNone(s.TimeInGC, percent), percent(worst.share),
			collectionName(r.Collections[worst.number-1].Index, worst.number), orNone(s.Suspend, textfmt.Length)))
	}
	if e := s.Assist; e != nil && e.Count > 0 {
		textfmt.Item(w, "assists", fmt.Sprintf("%s had to mark before they could allocate: %s on all goroutines together, waiting for credit included, the longest %s",
			textfmt.Many(e.Count, "allocation"), textfmt.Length(e.Time), textfmt.Length(e.Longest)))
	}
	if e := s.Sweep; e != nil && e.Count > 0 {
		textfmt.Item(w, "sweeps", fmt.Sprintf("%s before an allocation: %s on all goroutines together, the longest %s",
			textfmt.Many(e.Count, "sweep"), textfmt.Length(e.Time), textfmt.Length(e.Longest)))
	}
}

// printCounts writes how many collections there were at the file's beginning
// and at its end, where the file counts them.
func (r *Report) printCounts(w io.Writer) {
	before, known := r.Summary.Before.Get()
	if !known {
		textfmt.Item(w, "collections", fmt.Sprintf("%s in this file; how many there were before, it does not say", textfmt.Count(len(r.Collections))))
		return
	}
	last := uint64(0)
	for i := range r.Collections {
		last = max(last, r.Collections[i].Index)
	}
	var g textfmt.Table
	g.Row("collections", "before", "in the file", "at its end")
	for _, row := range r.rollup() {
		count := textfmt.Count(row.Count)
		switch {
		case row.Title == titleAll:
			g.Row(row.Title, textfmt.Count(before), count, textfmt.Count(last))
		case before == 0:
			g.Row(row.Title, "0", count, count)
		default:
			g.Row(row.Title, none, count, none)
		}
	}
	g.Print(w)
	if missing := last - before - uint64(len(r.Collections)); missing > 0 {
		fmt.Fprintf(w, "  %s within it that the file does not hold\n", textfmt.Many(missing, "collection"))
	}
	fmt.Fprintln(w)
}

// none stands in a table for what is not known, or may not be said.
const none = "n/a"

// orNone writes a value by format, if it is known.
func orNone[T any](m gc.Maybe[T], format func(T) string) string {
	if v, ok := m.Get(); ok {
		return format(v)
	}
	return none
}

// seconds writes a place in the file.
func seconds(d time.Duration) string { return fmt.Sprintf("%.6f s", d.Seconds()) }

// size writes a number of bytes with three digits and a unit of 1024, such as
// "4.19 MiB".
func size(b gc.Bytes) string {
	v, units := float64(b), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	if b < 1024 {
		return fmt.Sprintf("%d B", b)
	}
	for len(units) > 1 && v >= 1023.5 {
		v, units = v/1024, units[1:]
	}
	return textfmt.Digits(v) + " " + units[0]
}

// percent writes a fraction, such as "0.32 %".
func percent(f float64) string {
	switch {
	case f <= 0:
		return "0 %"
	case f < 0.0001:
		return "<0.01 %"
	}
	return textfmt.Digits(100*f) + " %"
}

// printable replaces what a terminal would take for a command.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return '?'
		}
		return r
	}, s)
}

// PrintPerfView writes each pause by TraceEvent's own rule, which PerfView's
// GCStats shows, beside ours. Of a file that PerfView does not read, one line
// says so.
func (r *Report) PrintPerfView(to io.Writer) error {
	w := bufio.NewWriter(to)
	if r.Source.dotnet {
		r.printPerfView(w)
	} else {
		fmt.Fprintf(w, "%s: PerfView reads no %s: nothing to compare\n", r.name(), r.Source.Format)
	}
	return printed(w.Flush())
}

const whyPerfView = "PerfView lets a pause last until RestartEEEnd, an event that the restarting thread fires when it next has the CPU; " +
	"the program already runs from RestartEEBegin on, where our pause ends. And: when a background collection begins with an ephemeral " +
	"one in the same stop, PerfView splits it at GCStart, and we charge all of it to the ephemeral one; of a collection that was announced as " +
	"background and ran blocking, PerfView counts only the time to suspend."

func (r *Report) printPerfView(w io.Writer) {
	fmt.Fprintf(w, "PAUSES OF %s AS PERFVIEW HAS THEM, AND AS WE DO\n\n", r.name())
	if len(r.Collections) == 0 {
		fmt.Fprintln(w, "  "+r.sentence())
		return
	}
	textfmt.Wrap(w, "  ", "  ", whyPerfView)
	fmt.Fprintln(w)
	g := textfmt.Table{Left: map[int]bool{1: true}}
	g.Row("GC", "gen", "at", "PerfView", "ours", "difference", "to suspend")
	signed := func(d time.Duration) string { return fmt.Sprintf("%+.6f", float64(d)/1e6) }
	var theirs, ours time.Duration
	left := 0
	for i := range r.Collections {
		c := &r.Collections[i]
		start, pause, _ := pausesIn(&c.Collection)
		difference := none
		if p, ok := c.perfView.Get(); ok {
			theirs, ours, difference = theirs+p, ours+pause, signed(p-pause)
		} else {
			left++
		}
		g.Row(fmt.Sprint(c.Index), genName(c), "+"+seconds(r.since(start)), orNone(c.perfView, milliseconds), milliseconds(pause), difference, orNone(suspendOf(&c.Collection), milliseconds))
	}
	g.Row("all", "", "", milliseconds(theirs), milliseconds(ours), signed(theirs-ours), "")
	g.Print(w)
	fmt.Fprintf(w, "\n  milliseconds; gen as in GCStats: N blocking, B background, F within a background one, I induced\n")
	if left > 0 {
		fmt.Fprintf(w, "  %s without all events of its stops: %s, and not in the sums\n", textfmt.Many(left, "collection"), none)
	}
}
