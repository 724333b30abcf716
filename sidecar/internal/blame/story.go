package blame

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// headlines are the parties of named in few words, in the same order.
var headlines = []string{
	"GARBAGE COLLECTION", "THE SCHEDULER, WHILE THE COLLECTOR HAD THE CPU (AN UPPER BOUND)", "THE GO SCHEDULER",
	"STOPS OF THE RUNTIME THAT ARE NOT GARBAGE COLLECTION", "THE MACHINE", "THE QUEUE BEFORE THE SERVICE", "THE LOAD GENERATOR",
	"THE PROGRAM ITSELF", "THE PROGRAM OR THE MACHINE", "NOT CERTAIN", "NOT SEEN",
}

// Headline says in few words what p99 is to be blamed on.
func (r *Report) Headline() string {
	const title = "TO BLAME FOR P99: "
	if r.Requests == 0 {
		return title + "NOT KNOWN, NO REQUEST WAS ANSWERED"
	}
	t := r.Summary.slow()
	first, _ := t.leaders()
	if first == nil || t.Of(t.Share.Unseen) >= mostUnseen {
		return title + "NOT KNOWN"
	}
	for i := range named {
		if &named[i] == first {
			return title + strings.ToUpper(perhaps(t.doubt(first, nil))) + headlines[i]
		}
	}
	return title + "NOT KNOWN"
}

// Story writes the report on one screen: what is to blame, a bar for each band of
// latency, and the slowest request as a strip. Pictures is where they are, empty for
// nowhere.
func (r *Report) Story(to io.Writer, pictures string) error {
	w := textfmt.NewText(to, 0)
	w.Names = 10
	w.Title("%s", r.Headline())
	w.Say("%s", r.lead())
	for _, n := range r.notes() {
		w.Wrap("  - ", "    ", n)
	}
	if r.Requests > 0 {
		r.storyBands(w)
		r.storySlowest(w)
	}
	w.Blank()
	if pictures != "" {
		w.Item("pictures", "%s", pictures)
	}
	w.Item("more", "--details prints tables, --json a document; --inject does something else to the service")
	return w.Close()
}

// lead returns the first sentence, without what the headline says.
func (r *Report) lead() string {
	s := strings.TrimPrefix(r.Sentences()[0], "To blame for p99: ")
	return strings.ToUpper(s[:1]) + s[1:]
}

// barWidth is how many characters the bars take.
const barWidth = 60

// storyBands writes a bar for each band: who had the time of its requests.
func (r *Report) storyBands(w *textfmt.Page) {
	w.Heading("WHO HAD THE TIME", "%s, %s; %s", textfmt.Many(r.Requests, "request"), textfmt.Many(r.Errors, "error"), r.setupOf("service"))
	g := &textfmt.Table{Left: []int{3}}
	var shown [strip.NumGroups]bool
	behind := map[strip.Group]bool{}
	for b := range NumBands {
		t := r.Summary.of(b)
		if t.Requests == 0 {
			continue
		}
		var bin strip.Bin
		(&Case{Share: t.Share, Generator: t.Generator}).addTo(&bin)
		g.Row(bands[b].title, t.Share.Total/time.Duration(t.Requests), t.Requests, bar(&bin, &t.Behind, &shown, behind))
	}
	w.Table(g)
	w.Say("(the mean, and how many) %s", legend(&shown)+behindLegend(behind))
}

// bar returns who had a time, as characters: each has its share of the width, and is
// shown if that is half a character or more. What of a wait may have been behind requests
// that the collector held up is in capitals.
func bar(b *strip.Bin, waits *Behind, shown *[strip.NumGroups]bool, behind map[strip.Group]bool) string {
	var whole, sum time.Duration
	for _, d := range b.Time {
		whole += d
	}
	chars := func(d time.Duration) int { return int(textfmt.Ratio(d, whole)*barWidth + 0.5) }
	var text strings.Builder
	for g := range strip.NumGroups {
		sum += b.Time[g]
		n := chars(sum) - text.Len()
		if n <= 0 {
			continue
		}
		letter := string(g.Letter())
		capitals := min(n, chars(waits.of(g)))
		text.WriteString(strings.Repeat(strings.ToUpper(letter), capitals) + strings.Repeat(letter, n-capitals))
		shown[g] = true
		if capitals > 0 {
			behind[g] = true
		}
	}
	return text.String()
}

// of returns what of a group's time it tells apart.
func (b *Behind) of(g strip.Group) time.Duration {
	switch g {
	case strip.Queue:
		return b.QueueBehindGC
	case strip.Sched:
		return b.SchedBehindGC
	}
	return 0
}

// behindLegend says what the capitals of a wait are, if there are any.
func behindLegend(behind map[strip.Group]bool) string {
	var capitals, letters []string
	for _, g := range []strip.Group{strip.Sched, strip.Queue} {
		if behind[g] {
			capitals, letters = append(capitals, strings.ToUpper(string(g.Letter()))), append(letters, string(g.Letter()))
		}
	}
	if len(capitals) == 0 {
		return ""
	}
	return fmt.Sprintf("; %s: the part of %s, at most, behind another slow request that the collector held up",
		strings.Join(capitals, " and "), strings.Join(letters, " and "))
}

func legend(shown *[strip.NumGroups]bool) string {
	var words []string
	for g := range strip.NumGroups {
		if shown[g] {
			words = append(words, fmt.Sprintf("%c %s", g.Letter(), g))
		}
	}
	return strings.Join(words, ", ")
}

// storySlowest writes the slowest request as a strip of characters, beside a median one.
func (r *Report) storySlowest(w *textfmt.Page) {
	if len(r.Drawn) == 0 {
		return
	}
	d := r.Drawn[0]
	width := w.Columns() - 4
	w.Heading("THE SLOWEST", "%s, %s from left to right", d.Name, stall.Humane(d.Span().Duration()))
	w.Say("%s", d.Line(width))
	w.Say("%s", d.Sentence)
	if m := r.Median; m != nil {
		n := max(1, int(float64(width)*float64(m.Span().Duration())/float64(d.Span().Duration())+0.5))
		w.Say("%s (a median one at the same scale, %s)", m.Line(min(n, width)), stall.Humane(m.Span().Duration()))
	}
}

func (r *Report) setupOf(title string) string {
	for _, l := range r.Setup {
		if l.Title == title {
			return l.Text
		}
	}
	return ""
}

// HTML writes the report as a page for a browser, in one file with nothing outside of it.
func (r *Report) HTML(to io.Writer) error {
	w := textfmt.NewHTML(to, "otelgc demo: "+strings.ToLower(r.Headline()), strip.Style)
	w.Figure(strip.Defs)
	w.Title("%s", r.Headline())
	w.Say("%s", r.lead())
	w.Figure(strip.Legend())
	w.Figure(strip.Percentiles(r.Summary.Bins))
	for _, d := range r.Drawn {
		w.Figure(d.HTML(r.Summary.Latency.P99, r.Median))
	}
	r.details(w)
	return w.Close()
}
