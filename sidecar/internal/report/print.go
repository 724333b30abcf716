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
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// PrintHTML writes the same as a page for a browser.
func (r *Report) PrintHTML(to io.Writer) error {
	h := textfmt.NewHTML(to, printable(filepath.Base(r.Source.File))+" - otelgc-sidecar report")
	r.print(h)
	if err := h.Close(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

func (r *Report) print(w io.Writer) {
	if r.Experiment != nil {
		r.printExperiment(w)
	} else {
		r.printTrace(w)
	}
}

func (r *Report) printTrace(w io.Writer) {
	fmt.Fprintf(w, "WHAT %s STOPPED FOR\n\n", printable(filepath.Base(r.Source.File)))
	textfmt.Wrap(w, "  ", "  ", r.Sentence())
	if len(r.Incomplete) > 0 {
		r.printIncomplete(w)
	}
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

// Sentence says the whole in one.
func (r *Report) Sentence() string {
	if len(r.Collections) == 0 {
		return "No garbage collection is in this file."
	}
	text := fmt.Sprintf("%s stopped the program for %s in all", textfmt.Many(len(r.Collections), "garbage collection"), textfmt.Length(r.PauseTotal()))
	if share, ok := r.PauseShare().Get(); ok {
		text += fmt.Sprintf(", %s of the %s in this file", percent(share), textfmt.Length(r.Duration()))
	}
	if worst := r.LongestPauses(1); len(worst) > 0 {
		text += fmt.Sprintf("; the longest pause was %s, at +%s", textfmt.Length(worst[0].Pause.Duration()), seconds(r.since(worst[0].Pause.Start)))
	}
	return text + "."
}

// seconds writes a place in the file.
func seconds(d time.Duration) string { return fmt.Sprintf("%.6f s", d.Seconds()) }

// shownHoles, shownPauses and shownCallers bound what is printed of long lists.
const (
	shownHoles   = 10
	shownPauses  = 10
	shownCallers = 3
)

func (r *Report) printKinds(w io.Writer) {
	textfmt.Heading(w, "PAUSES", fmt.Sprintf("one sample for each stop; %s: fewer than %d samples lie beyond it", none, beyond))
	var g textfmt.Table
	g.Row("kind", "stops", "p50", "p90", "p99", "p99.9", "max", "total")
	rows := 0
	for kind := gc.NoKind + 1; kind < gc.NumKinds; kind++ {
		s := r.PausesOf(kind)
		if s.Count == 0 {
			continue
		}
		rows++
		cells := []string{kind.String(), textfmt.Count(s.Count)}
		for _, q := range s.all() {
			cells = append(cells, maybeLength(q))
		}
		g.Row(append(cells, textfmt.Length(s.Max), textfmt.Length(s.Total))...)
	}
	if rows == 0 {
		fmt.Fprintln(w, "  none")
		return
	}
	g.Print(w)
	r.printEstimated(w)
}

// printEstimated says of how many pauses the length is not the runtime's own
// figure: in fidelity cycle only their sum is.
func (r *Report) printEstimated(w io.Writer) {
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
	rows := r.Rollup()
	var g textfmt.Table
	if r.Source.dotnet {
		g.Row("", "", "", "max", "mean", "total", "", "mean", "mean free")
		g.Row("", "count", "induced", "pause", "pause", "pause", "promoted", "survival", "after")
	} else {
		g.Row("", "", "max", "mean", "total", "mean heap", "mean live")
		g.Row("", "count", "pause", "pause", "pause", "before", "after")
	}
	for i := range rows {
		if row := &rows[i]; row.Count > 0 {
			g.Row(row.cells(r.Source.dotnet)...)
		}
	}
	g.Print(w)
}

func (r *Row) cells(dotnet bool) []string {
	pauses := []string{textfmt.Length(r.MaxPause), textfmt.Length(r.MeanPause()), textfmt.Length(r.Pause)}
	if !dotnet {
		return slices.Concat([]string{r.Title, textfmt.Count(r.Count)}, pauses, []string{maybeSize(r.HeapBefore), maybeSize(r.HeapAfter)})
	}
	return slices.Concat([]string{r.Title, textfmt.Count(r.Count), textfmt.Count(r.Induced)}, pauses,
		[]string{maybeSize(r.Promoted), maybePercent(r.Survival), maybePercent(r.Fragmentation)})
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
