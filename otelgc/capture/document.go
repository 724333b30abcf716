package capture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/internal/capturefile"
	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// around is how long before and after a request collections and stops may be that its
// document has, too; no longer than the request itself.
const around = 100 * time.Millisecond

// document returns the numbers of a request.
func (c *capturer) document(j *job) *capturefile.Document {
	boot, err := stall.BootID()
	if err != nil {
		boot = ""
	}
	extent := j.Window.Extent()
	d := &capturefile.Document{
		Schema: capturefile.Schema, Time: c.at(extent.Start).UTC(), BootID: boot, PID: os.Getpid(), Runtime: runtime.Version(),
		Traced: j.Traced,
		Request: capturefile.Request{
			Route: j.Route, Span: extent, Handler: stall.Span{Start: j.Window.Start, End: j.Window.End}, Duration: j.Share.Total,
			Fidelity: j.Share.Fidelity, Coverage: j.Share.Coverage(),
			Sentence: j.Sentence, Pieces: j.Pieces, Coarse: j.Coarse,
		},
		P99:         j.p99,
		Collections: []gc.Collection{}, Stops: []capturefile.Stop{},
	}
	if j.Span.IsValid() {
		d.Request.TraceID, d.Request.SpanID = j.Span.TraceID().String(), j.Span.SpanID().String()
	}
	setShare(&d.Request, j.Share)
	if m := j.median; m != nil {
		d.Median = &capturefile.Request{Span: m.Span(), Handler: m.Span(), Duration: m.Span().Duration(), Pieces: m.Pieces, Coarse: m.Coarse}
		d.Median.Fidelity, d.Median.Coverage = m.Sums.Fidelity, m.Sums.Coverage()
		setShare(d.Median, m.Sums)
	}
	margin := min(around, extent.Duration())
	near := stall.Span{Start: extent.Start.Add(-margin), End: extent.End.Add(margin)}
	collections, _ := c.monitor.Collections(0)
	for i := range collections {
		x := &collections[i]
		from, to := x.Start.Or(0), x.End.Or(0)
		for _, p := range x.Pauses {
			if from == 0 {
				from = p.Start
			}
			to = max(to, p.End)
		}
		if from < near.End && near.Start < to {
			d.Collections = append(d.Collections, *x)
		}
	}
	stops, _ := c.monitor.Suspensions(0)
	for i := range stops {
		if s := &stops[i]; s.Start < near.End && near.Start < s.End {
			d.Stops = append(d.Stops, capturefile.Stop{Span: s.Span(), Cause: s.Cause, Reason: s.Reason, Caller: s.Caller})
		}
	}
	if j.Gaps != nil {
		d.Gaps = []capturefile.Gap{}
	}
	for _, v := range j.Gaps {
		d.Gaps = append(d.Gaps, capturefile.Gap{Span: v.Span(), Cause: v.Cause, Scope: v.Scope})
	}
	return d
}

// setShare sets the parts of a request.
func setShare(q *capturefile.Request, s *stall.Share) {
	q.Share = make(map[stall.Part]time.Duration)
	for p := range stall.NumParts {
		if t := *s.Of(p); t > 0 {
			q.Share[p] = t
		}
	}
}

// page returns the page of a request.
func page(d *capturefile.Document) []byte {
	q := &d.Request
	var b bytes.Buffer
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>otelgc: a request of %s</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:1.5em;color-scheme:light dark}td{padding:0 1em 0 0;text-align:right}td.l{text-align:left}
%s</style></head><body>%s
<main><h1>A slow request</h1>
%s%s
`, stall.Humane(q.Duration), strip.Style, strip.Defs, strip.Legend(), d.Strip().HTML(d.P99, d.Beside()))
	if len(q.Pieces) == 0 {
		fmt.Fprintf(&b, "<p>%s.</p>\n<p>Too many requests lasted at that time for this one to be drawn.</p>\n", html.EscapeString(q.Sentence))
	}
	fmt.Fprintf(&b, "<p>It began at %s, in process %d.", d.Time.Format(time.RFC3339Nano), d.PID)
	if q.TraceID != "" {
		fmt.Fprintf(&b, " Trace %s, span %s.", q.TraceID, q.SpanID)
	}
	fmt.Fprintf(&b, "</p>\n<p>Beside this page: <code>%s</code>, the execution trace from %s before its begin to %s after its end (go tool trace, gotraceui, otelgc-sidecar report), and its numbers as JSON (otelgc-sidecar report).</p>\n",
		html.EscapeString(d.Trace), stall.Humane(max(q.Start.Sub(d.Traced.Start), 0)), stall.Humane(max(d.Traced.End.Sub(q.End), 0)))
	if d.Traced.Start > q.Start || d.Traced.End < q.End {
		b.WriteString("<p>The trace does not have all of the request: some of it was not traced.</p>\n")
	}
	b.WriteString("</main></body></html>\n")
	return b.Bytes()
}

// write writes the files of a request, and returns the path of its page.
func (c *capturer) write(j *job) (path string, err error) {
	defer func() {
		if r := recover(); r != nil { // no request is worth the program
			err = fmt.Errorf("draw it: panic: %v", r)
		}
	}()
	d := c.document(j)
	name := c.dir.name(d.Time)
	d.Trace = name + ".trace"
	numbers, err := json.Marshal(d)
	if err != nil {
		return "", fmt.Errorf("encode %s.json: %w", name, err)
	}
	return c.dir.write(name, j.Trace, file{page(d)}, file{numbers, {'\n'}})
}
