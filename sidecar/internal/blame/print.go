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

// Print writes the report as text with all its tables, as wide as the terminal, or
// textfmt.Width columns, where no single word is wider.
func (r *Report) Print(to io.Writer) error {
	w := textfmt.NewText(to, 0)
	w.Names = 10
	w.Title("%s", r.Headline())
	r.details(w)
	return w.Close()
}

// details writes the sentences and the tables.
func (r *Report) details(w *textfmt.Page) {
	for i, s := range r.Sentences() {
		if i > 0 {
			w.Blank()
		}
		w.Say("%s", s)
	}
	notes := r.notes()
	if text := r.GC.Slowed.String(); text != "" {
		notes = append(notes, "The machine made collections of the service pause long: "+text+".")
	}
	if len(notes) > 0 {
		w.Heading("BEFORE YOU BELIEVE IT", "")
		for _, n := range notes {
			w.Wrap("  - ", "    ", n)
		}
	}
	w.Heading("WHAT RAN", "")
	for _, l := range r.Setup {
		w.Item(l.Title, "%s", l.Text)
	}
	if r.Requests > 0 {
		r.printLatency(w)
		w.Heading("WHO HAD THE TIME", "percent of the requests' time; each row is 100; · is nothing")
		w.Table(r.Summary.shares(w.Columns()))
		if g := r.Summary.delays(); g != nil {
			w.Heading("WHAT GARBAGE COLLECTION COST", "of the requests it delayed; in cycle that it paused for certain, ≤: at most; queue is no stall")
			w.Table(g)
		}
		if g := r.Summary.behind(); g != nil {
			w.Heading("WAITED BEHIND A REQUEST THAT THE COLLECTOR HELD UP", "percent of the requests' time: of queue, and of the wait for a CPU, at most so much")
			w.Table(g)
		}
		r.printSlowest(w)
	}
	r.printGaps(w)
}

// notes returns the notes, and that the load generator has a part in p99.
func (r *Report) notes() []string {
	notes := slices.Clone(r.Notes)
	if t := r.Summary.sum(tail); t.Of(t.Generator) >= much {
		notes = append(notes, fmt.Sprintf("The load generator itself had %s of the time above p99: a client that has a CPU when it wants one would not see that part of it.", percent(t.Of(t.Generator))))
	}
	return notes
}

func (r *Report) printLatency(w *textfmt.Page) {
	l := &r.Summary.Latency
	w.Heading("LATENCY", "%s, %s; counted from the intended start", textfmt.Many(r.Requests, "request"), textfmt.Many(r.Errors, "error"))
	p999, enough := l.P999.Get()
	text := "n/a"
	if enough {
		text = textfmt.Length(p999)
	}
	var g textfmt.Table
	g.Row("p50", "p90", "p99", "p99.9", "max")
	g.Row(l.P50, l.P90, l.P99, text, l.Max)
	w.Table(&g)
	if !enough {
		w.Say("(p99.9 needs %s requests)", MinForP999)
	}
}

// shares returns the table of bands, with the owners of the time of each row. If it gets wider
// than so many columns, those that have little in every row share one; what was unseen
// never does.
func (j *Summary) shares(columns int) *textfmt.Table {
	all := j.sum(ToP50)
	var shown []*party
	for i := range parties {
		if parties[i].of(&all.spent) > 0 {
			shown = append(shown, &parties[i])
		}
	}
	peak := func(p *party) (most float64) { // the most of the time of a row
		for i := range j.Rows {
			row := &j.Rows[i]
			most = max(most, row.Of(p.of(&row.spent)))
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
func (j *Summary) table(shown []*party, folded bool) *textfmt.Table {
	g := &textfmt.Table{}
	top := []any{"", "fide-", "", "", "cover-"}
	head := []any{"latency", "lity", "requests", "time", "age %"}
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
		cells := []any{bands[row.Band].title, row.Fidelity, row.Requests, row.Share.Total, cell(row.Coverage())}
		other := row.Share.Total
		for _, p := range shown {
			d := p.of(&row.spent)
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
func (j *Summary) delays() *textfmt.Table {
	all := j.sum(ToP50)
	if all.Affected == 0 {
		return nil
	}
	g := &textfmt.Table{}
	row := func(cells []any, blocking, oneStop, first any) {
		if all.FullBlocking > 0 {
			cells = append(cells, blocking)
		}
		if all.OneStop > 0 {
			cells = append(cells, oneStop)
		}
		g.Row(append(cells, first)...)
	}
	row([]any{"", "fide-", "", "of", "their", "of all", "by", "by"}, "full", "two in", "their first")
	row([]any{"latency", "lity", "delayed", "all %", "time %", "time %", "one", "more"}, "block.", "a stop", "stall")
	for i := range j.Rows {
		if r := &j.Rows[i]; r.Affected > 0 {
			row(r.delayCells(), number(r.FullBlocking), number(r.OneStop), r.affected.stalls()[0])
		}
	}
	return g
}

func (row *Row) delayCells() []any {
	// The counts are of what is certain, so only times are bounds.
	atMost := func(f float64, s *stall.Share) string {
		text := cell(f)
		if row.Fidelity == stall.Cycle && s.Uncertain == 0 && !strings.HasPrefix(text, "<") {
			return "≤" + text
		}
		return text
	}
	ofAll, ofDelayed := row.GCShare()
	return []any{
		bands[row.Band].title, row.Fidelity, number(row.Affected),
		cell(textfmt.Ratio(row.Affected, row.Requests)), atMost(ofDelayed, &row.affected.Share), atMost(ofAll, &row.Share),
		number(row.Affected - row.Several), number(row.Several),
	}
}

// behind returns the table of what requests waited for their turn, and of that behind others
// that the collector held up; nil if there is none.
func (j *Summary) behind() *textfmt.Table {
	if all := j.sum(ToP50); all.Behind.sum() == 0 {
		return nil
	}
	g := &textfmt.Table{}
	g.Row("", "fide-", "", "of it", "for a", "of it")
	g.Row("latency", "lity", "queue", "behind", "CPU", "behind")
	for i := range j.Rows {
		r := &j.Rows[i]
		g.Row(bands[r.Band].title, r.Fidelity, cell(r.Of(r.Share.Charged[stall.Queue])), cell(r.Of(r.QueueBehindGC)),
			cell(r.Of(r.Share.Charged[stall.Sched]+r.Share.Charged[stall.SchedGC])), cell(r.Of(r.SchedBehindGC)))
	}
	return g
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

func (r *Report) printSlowest(w *textfmt.Page) {
	if len(r.Summary.Slowest) == 0 {
		return
	}
	w.Heading("THE SLOWEST", "when it was to start, and who had its time")
	for i := range r.Summary.Slowest {
		c := &r.Summary.Slowest[i]
		first := textfmt.Sprintf("  %9s  at +%.3f s   ", c.Latency, c.Arrival.Sub(r.Start).Seconds())
		w.Wrap(first, strings.Repeat(" ", utf8.RuneCountInString(first)), c.describe())
	}
}

// describe lists the owners of the time, the most first.
func (c *Case) describe() string {
	list := (&spent{c.Share, c.Generator}).parts()
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

func (r *Report) printGaps(w *textfmt.Page) {
	in, out := &r.Inside, &r.Outside
	w.Heading("GAPS", "when a probe could not run")
	inside := "no gap above 50 us"
	if in.Over50us > 0 {
		inside = textfmt.Sprintf("%s above 50 us: %s GC (%s), %s at the time of a gap outside, %s other", textfmt.Many(in.Over50us, "gap"), in.GC, percent(textfmt.Ratio(in.GC, in.Over50us)), in.Coincident, in.Other)
	}
	w.Item("inside", "%s probe in the service: %s", in.Mode, inside)
	if out.Observed() <= 0 {
		return
	}
	text := out.Mode.String() + " probe"
	if out.CPU >= 0 {
		text += fmt.Sprintf(" on CPU %d", out.CPU)
	}
	text += textfmt.Sprintf(": %s, %s of %s (%s), longest %s", textfmt.Many(out.Gaps, "gap"), out.GapTime, out.Observed(), percent(out.Lost()), out.longest())
	if out.Dropped > 0 {
		text += textfmt.Sprintf("; %s more were dropped", out.Dropped)
	}
	w.Item("outside", "%s", text)
	if all := r.Summary.sum(ToP50); out.Board {
		w.Item("", "of the requests' time %s is charged to the machine; %s coincided with gaps here, which are not charged (by chance: %s)",
			percent(all.Of(hosts(&all.Share.Charged))), percent(all.Of(hosts(&all.Share.Coincident))), percent(out.Lost()))
	}
}

// percent writes a fraction in a sentence, such as "0.3 %".
func percent(f float64) string {
	switch {
	case f <= 0:
		return "0 %"
	case f < 0.001:
		return "less than 0.1 %"
	case f < 0.0995:
		return fmt.Sprintf("%.1f %%", 100*f)
	case f < 1 && f > 0.995:
		return "more than 99 %"
	}
	return fmt.Sprintf("%.0f %%", 100*f)
}

// bound writes a fraction in a sentence, as an upper bound if it is one.
func bound(f float64, atMost bool) string {
	switch {
	case !atMost || f <= 0:
		return percent(f)
	case f < 0.001:
		return "at most 0.1 %"
	case f > 0.995:
		return "up to 100 %" // that is no bound
	}
	return "at most " + percent(f)
}

// between writes a share of which only bounds may be known.
func between(least, most float64) string {
	a, b := percent(least), percent(most)
	switch {
	case a == b && least > 0 || most <= 0:
		return a
	case most > 0.995 && least < 0.001:
		return "an unknown part"
	case most > 0.995:
		return "at least " + a
	case least < 0.001:
		return "at most " + strings.TrimPrefix(b, "less than ")
	}
	return a + " to " + b
}

// upTo writes a share as the largest of several.
func upTo(f float64) string {
	if f > 0.995 {
		return "nearly all"
	}
	return "up to " + percent(f)
}
