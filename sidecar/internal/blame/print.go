package blame

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
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
	if notes := r.caveats(); len(notes) > 0 {
		textfmt.Heading(w, "BEFORE YOU BELIEVE IT", "")
		for _, n := range notes {
			textfmt.Wrap(w, "  - ", "    ", n)
		}
	}
	textfmt.Heading(w, "WHAT RAN", "")
	for _, l := range r.Setup {
		textfmt.Wrap(w, fmt.Sprintf("  %-10s", l.Title), strings.Repeat(" ", 12), l.Text)
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

// muchLate is the load generator's share of the slow requests' time from which on it
// is said what that means.
const muchLate = 0.10

// notes returns the notes, and that the load generator has a part in p99.
func (r *Report) notes() []string {
	notes := slices.Clone(r.Notes)
	if t, _ := r.tail(); t.Of(t.Generator) >= muchLate {
		notes = append(notes, fmt.Sprintf("The load generator itself had %s of the time above p99: a client that has a CPU when it wants one would not see that part of it.", percent(t.Of(t.Generator))))
	}
	return notes
}

// caveats returns the notes, and that the machine has a part in what the
// collector's pauses took.
func (r *Report) caveats() []string {
	notes, text := r.notes(), r.GC.Slowed.String()
	if text == "" {
		return notes
	}
	return append(notes, "The machine made collections of the service pause long: "+text+".")
}

func (r *Report) printLatency(w io.Writer) {
	l := r.Judgement.Latency
	remark := fmt.Sprintf("%s, %s; counted from the intended start", textfmt.Many(r.Requests, "request"), textfmt.Many(r.Errors, "error"))
	textfmt.Heading(w, "LATENCY", remark)
	p999 := "n/a"
	if l.HasP999 {
		p999 = textfmt.Length(l.P999)
	}
	var g textfmt.Table
	g.Row("p50", "p90", "p99", "p99.9", "max")
	g.Row(textfmt.Length(l.P50), textfmt.Length(l.P90), textfmt.Length(l.P99), p999, textfmt.Length(l.Max))
	g.Print(w)
	if !l.HasP999 {
		fmt.Fprintf(w, "  (p99.9 needs %s requests)\n", textfmt.Count(MinForP999))
	}
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
	type part struct {
		name string
		d    time.Duration
	}
	s := &c.Share
	parts := []part{{"generator", c.Generator}, {"app", s.App}, {"app or host", s.AppOrHost}, {"uncertain", s.Uncertain}, {"unseen", s.Unseen}}
	for cause := range stall.NumCauses {
		parts = append(parts, part{cause.String(), s.Charged[cause]})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return int(max(-1, min(1, b.d-a.d))) })
	var words []string
	for _, p := range parts {
		if p.d > 0 {
			words = append(words, p.name+" "+textfmt.Length(p.d))
		}
	}
	text := strings.Join(words, " · ")
	if s.Fidelity == stall.Cycle && s.GC() > 0 && s.Uncertain == 0 {
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
			textfmt.Many(in.Over50us, "gap"), textfmt.Count(in.GC), percent(fraction(in.GC, in.Over50us)), textfmt.Count(in.Coincident), textfmt.Count(in.Other))
	}
	textfmt.Wrap(w, "  inside    ", strings.Repeat(" ", 12), fmt.Sprintf("%s probe in the service: %s", in.Mode, inside))
	if out.Observed <= 0 {
		return
	}
	all := r.all()
	text := fmt.Sprintf("%s probe", out.Mode)
	if out.CPU >= 0 {
		text += fmt.Sprintf(" on CPU %d", out.CPU)
	}
	text += fmt.Sprintf(": %s, %s of %s (%s), longest %s", textfmt.Many(out.Gaps, "gap"), textfmt.Length(out.GapTime), textfmt.Length(out.Observed), percent(out.Lost()), textfmt.Length(out.Longest))
	if out.Dropped > 0 {
		text += fmt.Sprintf("; %s more were dropped", textfmt.Count(out.Dropped))
	}
	textfmt.Wrap(w, "  outside   ", strings.Repeat(" ", 12), text)
	if out.Board {
		textfmt.Wrap(w, strings.Repeat(" ", 12), strings.Repeat(" ", 12),
			fmt.Sprintf("of the requests' time %s is charged to the machine; %s coincided with gaps here, which are charged to nobody (by chance: %s)",
				percent(all.Of(hosts(&all.Share.Charged))), percent(all.Of(hosts(&all.Share.Coincident))), percent(out.Lost())))
	}
}
