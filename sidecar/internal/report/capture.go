package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/capturefile"
	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/sidecar/internal/perfetto"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// readCapture reads the numbers of a slow request that package otelgc/capture has kept.
func readCapture(r *Report, in io.Reader, _ Options) error {
	d, err := capturefile.Read(in)
	if err != nil {
		return fmt.Errorf("%w: want it as otelgc/capture wrote it", err)
	}
	r.captured, r.Request, r.Gaps = d, &d.Request, d.Gaps
	r.Source.Format, r.Source.Runtime, r.Source.Clock = d.Schema, d.Runtime, clockMonotonic
	r.Source.Span, r.Source.PID = d.Request.Span, d.PID
	r.Source.recorded(d.Time)
	for i := range d.Collections {
		r.addCollection(&Collection{Collection: d.Collections[i]})
	}
	for _, s := range d.Stops {
		r.addSuspension(recording.Suspension{Span: s.Span, EndMax: s.End, Reason: s.Reason, Caller: s.Caller})
	}
	if c := d.Request.Coverage; c < 1 {
		r.addHole(Hole{d.Request.Start, d.Request.End, textfmt.Sprintf("the runtime was watched exactly for %s of the request", c)})
	}
	if d.Gaps == nil {
		r.addHole(Hole{d.Request.Start, d.Request.End, "what the machine did: no sidecar watched it for this service"})
	}
	return nil
}

// stripColumns is the width of a request as characters.
const stripColumns = 76

// printCapture prints where the time of a captured request went.
func (r *Report) printCapture(w *textfmt.Page) {
	q := r.Request
	drawn := r.captured.Strip()
	drawn.Name = textfmt.Printable(drawn.Name)
	drawn.Sentence = textfmt.Printable(drawn.Sentence)
	w.Title("WHERE THE TIME OF %s WENT", textfmt.Printable(cmp.Or(q.Route, "A SLOW REQUEST")))
	w.Say("%s", drawn.Sentence)
	if drawn.Sentence = ""; w.Draws() {
		w.Figure(drawn.HTML(r.captured.P99, r.captured.Beside()))
	} else if line := drawn.Line(stripColumns); line != "" {
		w.Blank()
		w.Say("%s", line)
		w.Say("%s", letters(drawn))
	}
	r.printIncomplete(w)
	w.Heading("WHO HAD IT", "")
	var t textfmt.Table
	t.Row("owner", "time", "of it")
	for _, x := range drawn.Times() {
		t.Row(x.Part.String(), x.Time, textfmt.Ratio(x.Time, q.Duration))
	}
	w.Table(&t)
	w.Heading("THE REQUEST", "")
	if q.TraceID != "" {
		w.Item("trace", "%s, span %s", textfmt.Printable(q.TraceID), textfmt.Printable(q.SpanID))
	}
	if d := q.Handler.Start.Sub(q.Start); d > 0 {
		w.Item("arrived", "%s before its handler began", d)
	}
	if r.captured.Trace != "" {
		w.Item("beside", "%s, the execution trace around it", textfmt.Printable(r.captured.Trace))
	}
	r.printSource(w)
	r.printNear(w)
}

// letters says what the characters of a request stand for.
func letters(q *strip.Request) string {
	var words []string
	for _, x := range q.Times() {
		g := strip.GroupOf(x.Part)
		if word := fmt.Sprintf("%c %s", g.Letter(), g); !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	return strings.Join(words, ", ")
}

// printNear prints the collections and stops around a captured request, in order.
func (r *Report) printNear(w *textfmt.Page) {
	w.Heading("AROUND IT", "times from its begin")
	type near struct {
		stall.Span
		what string
	}
	var list []near
	for _, c := range r.Collections {
		s := c.slice()
		list = append(list, near{s.Span, textfmt.Sprintf("%s, %s, paused for %s", s.name, textfmt.Printable(string(c.Trigger)), c.PauseTotal())})
	}
	for i := range r.Suspensions {
		s := &r.Suspensions[i]
		list = append(list, near{s.Span, "stop of the world: " + textfmt.Printable(cmp.Or(s.Reason, "reason unknown"))})
	}
	for _, g := range r.Gaps {
		list = append(list, near{g.Span, fmt.Sprintf("gap of the machine: %s, of scope %s", g.Cause, g.Scope)})
	}
	slices.SortStableFunc(list, func(a, b near) int { return cmp.Compare(a.Start, b.Start) })
	if len(list) == 0 {
		w.Say("no collection, no stop")
	}
	for i, n := range list {
		if i == shownNear {
			w.Item("", "and %s more (all of them with --json)", len(list)-i)
			break
		}
		w.Item(offset(n.Start.Sub(r.Request.Start)), "%s: %s", n.Duration(), n.what)
	}
}

// shownNear bounds the lines of printNear.
const shownNear = 20

// offset writes how long after the begin something was, or before it.
func offset(d time.Duration) string {
	if d < 0 {
		return "-" + stall.Humane(-d)
	}
	return "+" + stall.Humane(d)
}

// writeRequest writes a captured request: its whole, with its charges and its trace id, and
// below it who had its time.
func (r *Report) writeRequest(w *perfetto.Writer, process perfetto.Track) {
	q := r.Request
	if q == nil {
		return
	}
	drawn := r.captured.Strip()
	whole := slice{q.Span, textfmt.Printable(drawn.Name), []perfetto.Arg{
		{Name: "trace_id", Value: textfmt.Printable(q.TraceID)}, {Name: "span_id", Value: textfmt.Printable(q.SpanID)},
		{Name: "sentence", Value: textfmt.Printable(q.Sentence)}, {Name: "coverage", Value: q.Coverage}, {Name: "fidelity", Value: q.Fidelity.String()},
	}}
	for _, x := range drawn.Times() {
		whole.args = append(whole.args, perfetto.Arg{Name: x.Part.String() + "_ns", Value: int64(x.Time)})
	}
	writeSlices(w, process, "request", []slice{whole})
	writeSlices(w, process, "handler", []slice{{q.Handler, "handler", nil}})
	pieces := make([]slice, 0, len(q.Pieces))
	for _, p := range q.Pieces {
		pieces = append(pieces, slice{stall.Span{Start: p.Start, End: p.End}, p.Part.String(), nil})
	}
	writeSlices(w, process, "who had its time", pieces)
	var watched, gaps []slice
	for _, s := range drawn.Watched() {
		watched = append(watched, slice{s, "watched exactly", nil})
	}
	writeSlices(w, process, "coverage", watched)
	writeSlices(w, process, "traced", []slice{{r.captured.Traced, textfmt.Printable(r.captured.Trace), nil}})
	for _, g := range r.Gaps {
		gaps = append(gaps, slice{g.Span, g.Cause.String(), []perfetto.Arg{{Name: "scope", Value: g.Scope.String()}}})
	}
	writeSlices(w, process, "gaps of the machine", gaps)
}
