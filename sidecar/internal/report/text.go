package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Print writes the report as text, at most textfmt.Width columns wide where no single
// word is wider.
func (r *Report) Print(to io.Writer) error {
	w := textfmt.NewText(to, textfmt.Width)
	r.print(w)
	return w.Close()
}

// PrintHTML writes the same as a page for a browser.
func (r *Report) PrintHTML(to io.Writer) error {
	w := textfmt.NewHTML(to, r.name()+" - otelgc-sidecar report", strip.Style)
	w.Figure(strip.Defs)
	r.print(w)
	return w.Close()
}

func (r *Report) name() string { return filepath.Base(r.Source.File) }

func (r *Report) print(w *textfmt.Page) {
	switch {
	case r.Experiment != nil:
		r.printExperiment(w)
		return
	case r.Request != nil:
		r.printCapture(w)
		return
	}
	w.Title("WHAT %s STOPPED FOR", r.name())
	w.Say("%s", r.sentence())
	r.draw(w)
	r.printIncomplete(w)
	r.printSource(w)
	r.printKinds(w)
	r.printRollup(w)
	r.printHeap(w)
	r.printRequests(w)
	r.printLongest(w)
	r.printSuspensions(w)
	r.printSession(w)
}

// sentence sums up the report.
func (r *Report) sentence() string {
	if len(r.Collections) == 0 {
		return "No garbage collection is in this file."
	}
	text := textfmt.Sprintf("%s stopped the program for %s in all", textfmt.Many(len(r.Collections), "garbage collection"), r.Summary.Pause)
	if share, ok := r.Summary.PauseShare.Get(); ok {
		text += textfmt.Sprintf(", %s of the %s in this file", share, r.Source.Duration())
	}
	if worst := r.longest(1); len(worst) > 0 {
		text += textfmt.Sprintf("; the longest pause was %s, at +%s", worst[0].Pause.Duration(), seconds(r.since(worst[0].Pause.Start)))
	}
	return text + "."
}

// shownHoles, shownPauses and shownCallers bound what is printed of
// long lists.
const (
	shownHoles   = 10
	shownPauses  = 10
	shownCallers = 3
)

func (r *Report) printIncomplete(w *textfmt.Page) {
	if len(r.Incomplete) == 0 {
		return
	}
	w.Heading("NOT IN THIS FILE", "")
	for i, h := range r.Incomplete {
		place := ""
		switch {
		case i == shownHoles:
			w.Item("", "and %s more (all of them with --json)", len(r.Incomplete)-i)
			return
		case h.Start != 0:
			place = fmt.Sprintf("+%.3f s", r.since(h.Start).Seconds())
		case h.End != 0:
			place = fmt.Sprintf("to +%.3f s", r.since(h.End).Seconds())
		}
		w.Item(place, "%s", h.Why)
	}
}

func (r *Report) printSource(w *textfmt.Page) {
	s := &r.Source
	w.Heading("THE FILE", "")
	w.Item("format", "%s, %s bytes", s.Format, s.Bytes)
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
	w.Item("runtime", "%s", facts)
	if s.Command != "" {
		w.Item("command", "%s", s.Command)
	}
	covers := textfmt.Sprintf("%s, from %d to %d ns", s.Duration(), s.Start, s.End)
	if !s.Recorded.IsZero() {
		covers += "; recorded " + s.Recorded.Format("2006-01-02 15:04:05.000 MST")
	}
	w.Item("covers", "%s", covers)
	clock := "the file's own: it can be compared with nothing else"
	if s.Clock == clockMonotonic {
		clock = clockMonotonic + " of the machine's boot"
		if s.ifLinux {
			clock = clockMonotonic + ", if it was recorded on Linux: the file does not say"
		}
	}
	if s.Tick > 0 && s.Tick != monotonicHz {
		clock += textfmt.Sprintf("; %s ticks a second, scaled to ns", s.Tick)
	}
	w.Item("clock", "%s", clock)
}

func (r *Report) printKinds(w *textfmt.Page) {
	w.Heading("PAUSES", "one sample for each stop; %s: fewer than %d samples lie beyond it", textfmt.None, beyond)
	if len(r.Summary.Pauses) == 0 {
		w.Say("none")
		return
	}
	var g textfmt.Table
	g.Row("kind", "stops", "p50", "p90", "p99", "p99.9", "max", "total")
	for kind := range gc.NumKinds {
		if s, ok := r.Summary.Pauses[kind.String()]; ok {
			g.Row(kind, s.Count, s.P50, s.P90, s.P99, s.P999, s.Max, s.Total)
		}
	}
	w.Table(&g)
	// In fidelity cycle only the sum of the pauses is the runtime's own figure.
	n := 0
	for c := range r.pauses() {
		if c.Fidelity == stall.Cycle && len(c.Pauses) > 1 {
			n++
		}
	}
	if n > 0 {
		w.Say("%s of these are of collections that were not traced. The sum of a collection's pauses is exact; "+
			"how long each of them took is not: the last one has what it took at least.", n)
	}
}

func (r *Report) printRollup(w *textfmt.Page) {
	if len(r.Collections) == 0 {
		return
	}
	w.Heading("COLLECTIONS", "pauses are sums per collection")
	var g textfmt.Table
	if r.Source.dotnet {
		g.Row("", "", "", "max", "mean", "total", "", "mean", "mean free")
		g.Row("", "count", "induced", "pause", "pause", "pause", "promoted", "survival", "after")
	} else {
		g.Row("", "", "max", "mean", "total", "mean heap", "mean live")
		g.Row("", "count", "pause", "pause", "pause", "before", "after")
	}
	for _, row := range r.Summary.Rollup {
		if r.Source.dotnet {
			g.Row(row.Title, row.Count, row.Induced, row.MaxPause, row.MeanPause, row.Pause, row.Promoted, row.Survival, row.Fragmentation)
		} else {
			g.Row(row.Title, row.Count, row.MaxPause, row.MeanPause, row.Pause, row.HeapBefore, row.HeapAfter)
		}
	}
	w.Table(&g)
}

// printHeap writes what each generation held.
func (r *Report) printHeap(w *textfmt.Page) {
	var g textfmt.Table
	g.Row("", "", "size", "largest", "free", "mean", "mean")
	g.Row("", "collected", "at last", "after", "at last", "free", "survival")
	rows := 0
	for id := range gc.NumGenerations {
		var last *gc.Generation
		var largest gc.Maybe[gc.Bytes] // after a collection
		var free, survival mean[float64]
		collected := 0 // as far as the file has it
		for _, c := range r.Collections {
			g := part(&c.Collection, id)
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
		g.Row(id, textfmt.Many(collected, "time"), last.SizeAfter, largest, ratio(last.FragmentationAfter, last.SizeAfter), free.value(), survival.value())
	}
	if rows > 0 {
		w.Heading("THE HEAP", "sizes after a collection; poh: the pinned object heap")
		w.Table(&g)
	}
}

func (r *Report) printRequests(w *textfmt.Page) {
	if len(r.Summary.Requests) == 0 {
		return
	}
	w.Heading("REQUESTS", "percent; pauses count in full: one that fell while a request waited cost it nothing")
	var g textfmt.Table
	g.Row("", "", "", "", "hit by", "hit by", "GC of", "GC of")
	g.Row("latency", "up to", "requests", "in all", "GC", "several", "their time", "all time")
	for _, b := range r.Summary.Requests {
		g.Row(b.Title, b.UpTo, b.Count, b.Time, textfmt.Ratio(b.Hit, b.Count), textfmt.Ratio(b.Several, b.Count),
			textfmt.Ratio(b.GC, b.HitTime), textfmt.Ratio(b.GC, b.Time))
	}
	w.Table(&g)
	w.Say("requests that package otelgc marked and that lie in the trace from begin to end")
}

// stop is one pause with the collection it belongs to.
type stop struct {
	*Collection
	gc.Pause
}

// longest returns the n longest pauses, the longest first.
func (r *Report) longest(n int) (list []stop) {
	for c, p := range r.pauses() {
		at := len(list)
		for at > 0 && list[at-1].Pause.Duration() < p.Duration() {
			at--
		}
		if at < n {
			list = slices.Insert(list[:min(len(list), n-1)], at, stop{c, p})
		}
	}
	return list
}

// since returns the time from the beginning of the file.
func (r *Report) since(t stall.Instant) time.Duration { return t.Sub(r.Source.Start) }

func (r *Report) printLongest(w *textfmt.Page) {
	list := r.longest(shownPauses)
	if len(list) == 0 {
		return
	}
	w.Heading("THE LONGEST PAUSES", "when, in which collection, and why there was one")
	g := textfmt.Table{Left: []int{2, 3}}
	details := detailsOf(list)
	upper, lower := []any{"", "", "", ""}, []any{"", "", "", ""}
	for _, d := range details {
		upper, lower = append(upper, d.upper), append(lower, d.lower)
	}
	if len(details) > 0 {
		g.Row(upper...)
		g.Row(lower...)
	}
	for i := range list {
		s := &list[i]
		cells := []any{s.Pause.Duration(), "at +" + seconds(r.since(s.Pause.Start)), s.name(), s.why()}
		for _, d := range details {
			cells = append(cells, d.of(s))
		}
		g.Row(cells...)
	}
	w.Table(&g)
}

// detail is a column about pauses, under two words.
type detail struct {
	upper, lower string
	has          func(*stop) bool // the column has something about the pause
	of           func(*stop) any
}

// details are the columns that there can be. What the machine took of a pause is there for
// each pause of which it is known: to call a collection long for its work takes others to
// compare it with, and the rare kinds have none.
var details = []detail{
	{"of it to", "suspend", (*stop).placed, func(s *stop) any { return s.Suspend }},
	{
		"without", "a CPU", func(s *stop) bool { return s.Pause.HostDuring.CPUWait.Or(0) > 0 },
		func(s *stop) any { return s.Pause.HostDuring.CPUWait },
	},
	{
		"for pages", "from disk", func(s *stop) bool { return s.Pause.HostDuring.PageWait.Or(0) > 0 },
		func(s *stop) any { return s.Pause.HostDuring.PageWait },
	},
	{"perhaps", "longer by", (*stop).placed, func(s *stop) any { return s.longer() }},
}

// detailsOf returns the columns that have something about one of the pauses.
func detailsOf(list []stop) (all []detail) {
	for _, d := range details {
		if slices.ContainsFunc(list, func(s stop) bool { return d.has(&s) }) {
			all = append(all, d)
		}
	}
	return all
}

func (s *stop) placed() bool { return !s.Suspend.IsZero() || s.longer() > 0 }

// longer returns by how much the pause may have been longer. In a Go trace goroutines run
// by the end: it means nothing that the runtime stamps its own end later.
func (s *stop) longer() time.Duration {
	if s.Origin == stall.GoTrace {
		return 0
	}
	return max(0, s.EndMax.Sub(s.Pause.End))
}

// title names the collection by the process's count, or else the file's.
func (c *Collection) title() string {
	if c.Index > 0 {
		return fmt.Sprintf("GC %d", c.Index)
	}
	return fmt.Sprintf("#%d", c.number)
}

// name names the collection and its kind.
func (s *stop) name() string {
	name := s.title()
	if g, ok := s.Generation.Get(); ok {
		name += fmt.Sprintf(", gen %d", g)
	}
	return name + " " + strings.ReplaceAll(s.Kind.String(), "_", " ")
}

// why returns in which part of the collection the pause was, and what began it.
func (s *stop) why() string {
	text := string(s.Trigger)
	if s.Trigger.IsZero() {
		text = "trigger not known"
	}
	if s.Phase != gc.PhaseUnknown {
		text = strings.ReplaceAll(s.Phase.String(), "_", " ") + ", " + text
	}
	if s.TriggerSite != "" {
		text += " by " + s.TriggerSite
	}
	return text
}

func (r *Report) printSuspensions(w *textfmt.Page) {
	w.Heading("STOPS THAT WERE NOT FOR GARBAGE COLLECTION", "")
	list := r.reasons()
	if len(list) == 0 {
		w.Say("none")
		return
	}
	g := textfmt.Table{Left: []int{5}}
	g.Row("reason", "stops", "p50", "max", "total", "by")
	for _, s := range list {
		shown := min(len(s.callers), shownCallers)
		by := strings.Join(s.callers[:shown], ", ")
		if more := len(s.callers) - shown; more > 0 {
			by += textfmt.Sprintf(" and %s more", more)
		}
		g.Row(s.name, s.Count, s.P50, s.Max, s.Total, by)
	}
	w.Table(&g)
}

// printSession writes the facts of the whole session.
func (r *Report) printSession(w *textfmt.Page) {
	if len(r.Collections) == 0 {
		return
	}
	s := r.Summary
	w.Heading("THE SESSION", "")
	r.printCounts(w)
	w.Item("paused", "%s of the time in this file, %s, with what it took to stop the threads", s.PauseShare, s.Pause)
	if !s.TimeInGC.IsZero() {
		worst := slices.MaxFunc(r.byRestart(), func(a, b *Collection) int { return cmp.Compare(a.TimeInGC.Or(-1), b.TimeInGC.Or(-1)) })
		w.Item("% in GC", "%s at the last collection, at most %s (%s): as the runtime's own counter has it, "+
			"from one collection to the next. It leaves out the %s that it took to stop the threads, and counts as GC what paging "+
			"and lost CPU took in a pause", s.TimeInGC, worst.TimeInGC, worst.title(), s.Suspend)
	}
	if e := s.Assist; e != nil && e.Count > 0 {
		w.Item("assists", "%s had to mark before they could allocate: %s on all goroutines together, waiting for credit included, the longest %s", textfmt.Many(e.Count, "allocation"), e.Time, e.Longest)
	}
	if e := s.Sweep; e != nil && e.Count > 0 {
		w.Item("sweeps", "%s before an allocation: %s on all goroutines together, the longest %s", textfmt.Many(e.Count, "sweep"), e.Time, e.Longest)
	}
}

// printCounts writes how many collections there were at the file's beginning
// and at its end, where the file counts them.
func (r *Report) printCounts(w *textfmt.Page) {
	before, known := r.Summary.Before.Get()
	if !known {
		w.Item("collections", "%s in this file; how many there were before, it does not say", len(r.Collections))
		return
	}
	last := uint64(0)
	for _, c := range r.Collections {
		last = max(last, c.Index)
	}
	var g textfmt.Table
	g.Row("collections", "before", "in the file", "at its end")
	for _, row := range r.rollup() {
		switch {
		case row.Title == titleAll:
			g.Row(row.Title, before, row.Count, last)
		case before == 0:
			g.Row(row.Title, 0, row.Count, row.Count)
		default:
			g.Row(row.Title, textfmt.None, row.Count, textfmt.None)
		}
	}
	w.Table(&g)
	if missing := last - before - uint64(len(r.Collections)); missing > 0 {
		w.Say("%s within it that the file does not hold", textfmt.Many(missing, "collection"))
	}
	w.Blank()
}

// seconds writes a place in the file.
func seconds(d time.Duration) string { return fmt.Sprintf("%.6f s", d.Seconds()) }
