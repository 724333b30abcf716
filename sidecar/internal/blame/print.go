package blame

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// Print writes the report as text, as wide as the terminal, or textfmt.Width columns,
// where no single word is wider.
func (r *Report) Print(to io.Writer) error {
	w := textfmt.NewText(to)
	fmt.Fprintln(w, "WHO IS TO BLAME FOR P99?")
	for _, s := range r.Sentences() {
		fmt.Fprintln(w)
		textfmt.Wrap(w, "  ", "  ", s)
	}
	notes := r.notes()
	if text := r.GC.Slowed.String(); text != "" {
		notes = append(notes, "The machine made collections of the service pause long: "+text+".")
	}
	if len(notes) > 0 {
		textfmt.Heading(w, "BEFORE YOU BELIEVE IT", "")
		for _, n := range notes {
			textfmt.Wrap(w, "  - ", "    ", n)
		}
	}
	textfmt.Heading(w, "WHAT RAN", "")
	for _, l := range r.Setup {
		line(w, l.Title, l.Text)
	}
	if r.Requests > 0 {
		r.printLatency(w)
		textfmt.Heading(w, "WHO HAD THE TIME", "percent of the requests' time; each row is 100; · is nothing")
		r.Judgement.shares(w.Columns()).Print(w)
		if g := r.Judgement.delays(); g != nil {
			textfmt.Heading(w, "WHAT GARBAGE COLLECTION COST", "of the requests it delayed; in cycle that it paused for certain, ≤: at most; queue is no stall")
			g.Print(w)
		}
		r.printSlowest(w)
	}
	r.printGaps(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("print report: %w", err)
	}
	return nil
}

// line writes a named line.
func line(w io.Writer, name, text string) {
	textfmt.Wrap(w, fmt.Sprintf("  %-10s", name), strings.Repeat(" ", 12), text)
}

// notes returns the notes, and that the load generator has a part in p99.
func (r *Report) notes() []string {
	notes := slices.Clone(r.Notes)
	if t := r.Judgement.sum(tail); t.Of(t.Generator) >= much {
		notes = append(notes, fmt.Sprintf("The load generator itself had %s of the time above p99: a client that has a CPU when it wants one would not see that part of it.", percent(t.Of(t.Generator))))
	}
	return notes
}

func (r *Report) printLatency(w io.Writer) {
	l := &r.Judgement.Latency
	textfmt.Heading(w, "LATENCY", fmt.Sprintf("%s, %s; counted from the intended start", textfmt.Many(r.Requests, "request"), textfmt.Many(r.Errors, "error")))
	p999, enough := l.P999.Get()
	text := "n/a"
	if enough {
		text = textfmt.Length(p999)
	}
	var g textfmt.Table
	g.Row("p50", "p90", "p99", "p99.9", "max")
	g.Row(textfmt.Length(l.P50), textfmt.Length(l.P90), textfmt.Length(l.P99), text, textfmt.Length(l.Max))
	g.Print(w)
	if !enough {
		fmt.Fprintf(w, "  (p99.9 needs %s requests)\n", textfmt.Count(MinForP999))
	}
}

// shares returns the table of bands: who had the time of each row. If it gets wider
// than so many columns, those that have little in every row share one; what was unseen
// never does.
func (j *Judgement) shares(columns int) *textfmt.Table {
	all := j.sum(ToP50)
	var shown []*party
	for i := range parties {
		if parties[i].of(&all) > 0 {
			shown = append(shown, &parties[i])
		}
	}
	peak := func(p *party) (most float64) { // the most of the time of a row
		for i := range j.Rows {
			row := &j.Rows[i]
			most = max(most, row.Of(p.of(&row.Tally)))
		}
		return most
	}
	for folded := false; ; folded = true {
		g := j.table(shown, folded)
		least := -1
		for i, p := range shown {
			if p.head != "seen" && (least < 0 || peak(p) < peak(shown[least])) {
				least = i
			}
		}
		if g.Width() <= columns || least < 0 {
			return g
		}
		shown = slices.Delete(shown, least, least+1)
	}
}

// table has a column for each party that is shown, and one for all others if any is
// folded into it.
func (j *Judgement) table(shown []*party, folded bool) *textfmt.Table {
	g := &textfmt.Table{}
	top := []string{"", "fide-", "", "", "cover-"}
	head := []string{"latency", "lity", "requests", "time", "age %"}
	for _, p := range shown {
		top, head = append(top, p.top), append(head, p.head)
	}
	if folded {
		top, head = append(top, ""), append(head, "other")
	}
	g.Row(top...)
	g.Row(head...)
	for i := range j.Rows {
		row := &j.Rows[i]
		cells := []string{
			bands[row.Band].title, row.Fidelity.String(), textfmt.Count(row.Requests),
			textfmt.Length(row.Share.Total), cell(row.Coverage()),
		}
		other := row.Share.Total
		for _, p := range shown {
			d := p.of(&row.Tally)
			other -= d
			cells = append(cells, cell(row.Of(d)))
		}
		if folded {
			cells = append(cells, cell(row.Of(other)))
		}
		g.Row(cells...)
	}
	return g
}

// delays returns the table of what garbage collection cost each band of which it
// delayed a request; nil if there is none. What only other collectors than Go's of
// today do has columns only if it was done.
func (j *Judgement) delays() *textfmt.Table {
	all := j.sum(ToP50)
	if all.Affected == 0 {
		return nil
	}
	g := &textfmt.Table{}
	row := func(cells []string, blocking, oneStop, first string) {
		if all.FullBlocking > 0 {
			cells = append(cells, blocking)
		}
		if all.OneStop > 0 {
			cells = append(cells, oneStop)
		}
		g.Row(append(cells, first)...)
	}
	row([]string{"", "fide-", "", "of", "their", "of all", "by", "by"}, "full", "two in", "their first")
	row([]string{"latency", "lity", "delayed", "all %", "time %", "time %", "one", "more"}, "block.", "a stop", "stall")
	for i := range j.Rows {
		if r := &j.Rows[i]; r.Affected > 0 {
			row(r.delayCells(), number(r.FullBlocking), number(r.OneStop), stallsOf(&r.AffectedShare)[0].String())
		}
	}
	return g
}

func (row *Row) delayCells() []string {
	// The counts are of what is certain, so only times are bounds.
	atMost := func(f float64, s *stall.Share) string {
		text := cell(f)
		if row.Fidelity == stall.Cycle && s.Uncertain == 0 && !strings.HasPrefix(text, "<") {
			return "≤" + text
		}
		return text
	}
	ofAll, ofDelayed := row.GCShare()
	return []string{
		bands[row.Band].title, row.Fidelity.String(), number(row.Affected),
		cell(ratio(row.Affected, row.Requests)), atMost(ofDelayed, &row.AffectedShare), atMost(ofAll, &row.Share),
		number(row.Affected - row.Several), number(row.Several),
	}
}

func number(n int) string {
	if n == 0 {
		return "·"
	}
	return textfmt.Count(n)
}

// cell writes a fraction in a table of percents.
func cell(f float64) string {
	switch {
	case f <= 0:
		return "·"
	case f < 0.0005:
		return "<0.1"
	}
	return fmt.Sprintf("%.1f", 100*f)
}

func (r *Report) printSlowest(w io.Writer) {
	if len(r.Judgement.Slowest) == 0 {
		return
	}
	textfmt.Heading(w, "THE SLOWEST", "when it was to start, and who had its time")
	for i := range r.Judgement.Slowest {
		c := &r.Judgement.Slowest[i]
		first := fmt.Sprintf("  %9s  at +%.3f s   ", textfmt.Length(c.Latency), c.Arrival.Sub(r.Start).Seconds())
		textfmt.Wrap(w, first, strings.Repeat(" ", utf8.RuneCountInString(first)), c.describe())
	}
}

// describe lists who had the time, the most first.
func (c *Case) describe() string {
	list := parts(&c.Share, c.Generator)
	slices.SortStableFunc(list, func(a, b part) int { return cmp.Compare(b.d, a.d) })
	var words []string
	for _, p := range list {
		words = append(words, strings.Replace(p.name, "app_or_host", "app or host", 1)+" "+textfmt.Length(p.d))
	}
	text := strings.Join(words, " · ")
	if s := &c.Share; s.Fidelity == stall.Cycle && s.GC() > 0 && s.Uncertain == 0 {
		text += " (GC: at most)"
	}
	return text
}

func (r *Report) printGaps(w io.Writer) {
	in, out := &r.Inside, &r.Outside
	textfmt.Heading(w, "GAPS", "when a probe could not run")
	inside := "no gap above 50 us"
	if in.Over50us > 0 {
		inside = fmt.Sprintf("%s above 50 us: %s GC (%s), %s at the time of a gap outside, %s other",
			textfmt.Many(in.Over50us, "gap"), textfmt.Count(in.GC), percent(ratio(in.GC, in.Over50us)), textfmt.Count(in.Coincident), textfmt.Count(in.Other))
	}
	line(w, "inside", fmt.Sprintf("%s probe in the service: %s", in.Mode, inside))
	if out.Observed <= 0 {
		return
	}
	text := out.Mode + " probe"
	if out.CPU >= 0 {
		text += fmt.Sprintf(" on CPU %d", out.CPU)
	}
	text += fmt.Sprintf(": %s, %s of %s (%s), longest %s", textfmt.Many(out.Gaps, "gap"), textfmt.Length(out.GapTime), textfmt.Length(out.Observed), percent(out.Lost()), textfmt.Length(out.Longest))
	if out.Dropped > 0 {
		text += fmt.Sprintf("; %s more were dropped", textfmt.Count(out.Dropped))
	}
	line(w, "outside", text)
	if all := r.Judgement.sum(ToP50); out.Board {
		line(w, "", fmt.Sprintf("of the requests' time %s is charged to the machine; %s coincided with gaps here, which are charged to nobody (by chance: %s)",
			percent(all.Of(hosts(&all.Share.Charged))), percent(all.Of(hosts(&all.Share.Coincident))), percent(out.Lost())))
	}
}
