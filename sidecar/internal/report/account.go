package report

import (
	"fmt"
	"io"
	"slices"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
)

// printSession writes the facts of the whole session.
func (r *Report) printSession(w io.Writer) {
	if len(r.Collections) == 0 {
		return
	}
	textfmt.Heading(w, "THE SESSION", "")
	r.printCounts(w)
	share := fmt.Sprintf("%s of the time in this file, %s, with what it took to stop the threads", maybePercent(r.PauseShare()), textfmt.Length(r.PauseTotal()))
	textfmt.Item(w, "paused", share)
	r.printTimeInGC(w)
	if e := r.Work.Assist; e.Count > 0 {
		textfmt.Item(w, "assists", fmt.Sprintf("%s had to mark before they could allocate: %s on all goroutines together, waiting for credit included, the longest %s",
			textfmt.Many(e.Count, "allocation"), textfmt.Length(e.Time), textfmt.Length(e.Longest)))
	}
	if e := r.Work.Sweep; e.Count > 0 {
		textfmt.Item(w, "sweeps", fmt.Sprintf("%s before an allocation: %s on all goroutines together, the longest %s",
			textfmt.Many(e.Count, "sweep"), textfmt.Length(e.Time), textfmt.Length(e.Longest)))
	}
}

func (r *Report) printTimeInGC(w io.Writer) {
	shares := r.TimeInGC()
	if len(shares) == 0 {
		return
	}
	last := shares[len(shares)-1]
	worst := slices.MaxFunc(shares, func(a, b InGC) int {
		if a.Share < b.Share {
			return -1
		}
		return 1
	})
	textfmt.Item(w, "% in GC", fmt.Sprintf("%s at the last collection, at most %s (%s): as the runtime's own counter has it, "+
		"from one collection to the next. It leaves out the %s that it took to stop the threads, and counts as GC what paging "+
		"and lost CPU took in a pause", percent(last.Share), percent(worst.Share), r.nameOf(worst.Number), maybeLength(r.Suspended())))
}

func (r *Report) nameOf(number int) string {
	if i := r.Collections[number-1].Index; i > 0 {
		return fmt.Sprintf("GC %d", i)
	}
	return fmt.Sprintf("#%d", number)
}

// printCounts writes how many collections there were at the file's beginning
// and at its end, where the file counts them.
func (r *Report) printCounts(w io.Writer) {
	before, known := r.Before().Get()
	if !known {
		textfmt.Item(w, "collections", fmt.Sprintf("%s in this file; how many there were before, it does not say", textfmt.Count(len(r.Collections))))
		return
	}
	var g textfmt.Table
	g.Row("collections", "before", "in the file", "at its end")
	for _, row := range r.Rollup() {
		cells := []string{row.Title, none, textfmt.Count(row.Count), none}
		switch {
		case row.Title == titleAll:
			cells[1], cells[3] = textfmt.Count(before), textfmt.Count(r.last())
		case before == 0:
			cells[1], cells[3] = "0", textfmt.Count(row.Count)
		}
		g.Row(cells...)
	}
	g.Print(w)
	if missing := r.last() - before - uint64(len(r.Collections)); missing > 0 {
		fmt.Fprintf(w, "  %s within it that the file does not hold\n", textfmt.Many(missing, "collection"))
	}
	fmt.Fprintln(w)
}
