package page

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/otelgc/otelgc/internal/livepage"
	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/stall"
)

// sectionIDs are the parts of the page, in order.
var sectionIDs = []string{"percentiles", "slowest", "pauses", "losses"}

// sections returns the parts of the page as HTML, as of now.
func (h *handler) sections() map[string]string {
	now := h.entry.Instant(time.Now())
	return map[string]string{
		"percentiles": h.percentiles(now), "slowest": h.slowestTable(now), "pauses": h.pauses(now), "losses": h.losses(),
	}
}

func (h *handler) percentiles(now stall.Instant) string {
	bins, n := h.history.bins(now)
	if n == 0 {
		return "<p>No request has ended in the last quarter of an hour.</p>"
	}
	return fmt.Sprintf("<p>%d requests of the last quarter of an hour.</p>\n", n) + strip.Percentiles(bins)
}

// p99 returns the latency that 99 % of the requests do not exceed, 0 if there are none.
func (h *handler) p99(now stall.Instant) time.Duration {
	bins, _ := h.history.bins(now)
	for _, b := range bins {
		if b.To >= 0.99 {
			return b.Latency
		}
	}
	return 0
}

// shown is how many of the slowest requests are listed.
const shown = 20

func (h *handler) slowestTable(now stall.Instant) string {
	list := h.history.slowest(now)
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("<h2>The slowest requests of the last quarter of an hour</h2>\n<table><tr><th class=\"l\">took</th><th>ended</th><th class=\"l\">route</th><th class=\"l\">where its time went</th></tr>\n")
	for _, q := range list[:min(shown, len(list))] {
		fmt.Fprintf(&b, "<tr><td class=\"l\"><a href=\"request/%d\">%s</a></td><td>%s ago</td><td class=\"l\">%s</td><td class=\"l\">%s</td></tr>\n",
			q.id, stall.Humane(q.share.Total), ago(now.Sub(q.span.End)), html.EscapeString(q.route), html.EscapeString(q.share.Explain()))
	}
	b.WriteString("</table>\n")
	return b.String()
}

// ago writes a time without digits that change with each look.
func ago(d time.Duration) string { return d.Truncate(time.Second).String() }

// pausesFor is the time whose pauses are drawn.
const pausesFor = 5 * time.Minute

func (h *handler) pauses(now stall.Instant) string {
	over := stall.Span{Start: now.Add(-pausesFor), End: now}
	collections, _ := h.monitor.Collections(0)
	var pauses []strip.Pause
	var heaps []strip.Heap
	for i := range collections {
		c := &collections[i]
		name := fmt.Sprintf("GC %d", c.Index)
		for _, p := range c.Pauses {
			if v := (stall.Span{Start: p.Start, End: p.End}); v.Start >= over.Start {
				pauses = append(pauses, strip.Pause{Span: v, Name: name, GC: true})
			}
		}
		before, known := c.HeapBefore.Get()
		after, both := c.HeapAfter.Get()
		if end, over := c.End.Get(); known && both && over && end >= now.Add(-pausesFor) {
			heaps = append(heaps, strip.Heap{At: end, Name: name, Before: uint64(before), After: uint64(after)})
		}
	}
	stops, _ := h.monitor.Suspensions(0)
	for i := range stops {
		if s := &stops[i]; s.Start >= over.Start {
			pauses = append(pauses, strip.Pause{Span: s.Span(), Name: s.Reason})
		}
	}
	return strip.Pauses(over, pauses) + strip.Heaps(over, heaps)
}

// loss is a count of otelgc.monitor.dropped.
type loss struct {
	Item   string `json:"item"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

func (h *handler) lossList() []loss {
	list := []loss{}
	for of, n := range h.entry.Losses() {
		list = append(list, loss{of[0], of[1], n})
	}
	slices.SortFunc(list, func(a, b loss) int { return cmp.Or(cmp.Compare(a.Item, b.Item), cmp.Compare(a.Reason, b.Reason)) })
	return list
}

func (h *handler) losses() string {
	list := h.lossList()
	if len(list) == 0 {
		return "<h2>Lost</h2><p>Nothing was lost.</p>"
	}
	var b strings.Builder
	b.WriteString("<h2>Lost (otelgc.monitor.dropped)</h2><table><tr><th class=\"l\">item</th><th class=\"l\">reason</th><th>count</th></tr>\n")
	for _, l := range list {
		fmt.Fprintf(&b, "<tr><td class=\"l\">%s</td><td class=\"l\">%s</td><td>%d</td></tr>\n", html.EscapeString(l.Item), html.EscapeString(l.Reason), l.Count)
	}
	b.WriteString("</table>")
	return b.String()
}

// serveRequest serves the page of one of the slowest requests.
func (h *handler) serveRequest(w http.ResponseWriter, name string) {
	id, err := strconv.ParseUint(name, 10, 64)
	now := h.entry.Instant(time.Now())
	list := h.history.slowest(now)
	i := slices.IndexFunc(list, func(q request) bool { return q.id == id })
	if err != nil || i < 0 {
		http.Error(w, "no such request is kept: it may be older than a quarter of an hour, or others of its minute were slower", http.StatusNotFound)
		return
	}
	q := &list[i]
	var b strings.Builder
	b.WriteString("<h1>A slow request</h1>\n<p><a href=\"../\">all requests</a></p>\n" + strip.Legend())
	if q.pieces == nil {
		fmt.Fprintf(&b, "<p>%s</p><p>Too many requests lasted at that time for this one to be drawn.</p>", html.EscapeString(q.share.Explain()))
	} else {
		b.WriteString(h.drawn(q).HTML(h.p99(now), h.history.median()))
	}
	if q.trace.IsValid() {
		fmt.Fprintf(&b, "<p>trace %s, span %s</p>", q.trace.TraceID(), q.trace.SpanID())
	}
	switch path, why := q.captured.Get(); {
	case path != "":
		fmt.Fprintf(&b, "<p>Kept, with its execution trace: %s</p>", html.EscapeString(path))
	case why != "":
		fmt.Fprintf(&b, "<p>Not kept: %s</p>", html.EscapeString(why))
	}
	livepage.ServeItem(w, "otelgc: a request of "+stall.Humane(q.share.Total), b.String())
}

// drawn returns a request as it is to be drawn, with the collections and stops that the
// monitor remembers of its time.
func (h *handler) drawn(q *request) *strip.Request {
	r := &strip.Request{Name: cmp.Or(q.route, "request"), Pieces: q.pieces, Sums: &q.share, Coarse: q.coarse, Sentence: q.share.Explain() + "."}
	collections, _ := h.monitor.Collections(0)
	r.AddCollections(collections)
	stops, _ := h.monitor.Suspensions(0)
	for i := range stops {
		if v := stops[i].Interval; !v.Span().Clip(q.span).Empty() {
			r.Stops = append(r.Stops, v)
		}
	}
	return r
}

// document is data.json. Durations are nanoseconds, instants those of CLOCK_MONOTONIC.
type document struct {
	Schema      string            `json:"schema"` // otelgc.page/1
	At          stall.Instant     `json:"at"`
	Requests    uint64            `json:"requests"` // of the last quarter of an hour
	Percentiles []percentile      `json:"percentiles"`
	Slowest     []documentRequest `json:"slowest"`
	Lost        []loss            `json:"lost"`
}

// percentile is the requests between two percentiles.
type percentile struct {
	From    float64                  `json:"from"`
	To      float64                  `json:"to"`
	Latency time.Duration            `json:"latency"` // of the slowest of them, at most
	Time    map[string]time.Duration `json:"time"`    // by owner
}

type documentRequest struct {
	ID          uint64                   `json:"id"`
	Route       string                   `json:"route,omitempty"`
	Trace       string                   `json:"trace_id,omitempty"`
	Span        string                   `json:"span_id,omitempty"`
	Start       stall.Instant            `json:"start"`
	End         stall.Instant            `json:"end"`
	Total       time.Duration            `json:"duration"`
	Share       map[string]time.Duration `json:"share"`
	Pieces      []stall.Piece            `json:"pieces,omitempty"`        // in order, without a gap
	Coarse      bool                     `json:"pieces_coarse,omitempty"` // there were more: each has the part with most of it
	Capture     string                   `json:"capture,omitempty"`       // page of its files
	NotCaptured string                   `json:"not_captured,omitempty"`  // why it has none, where captures are asked for
}

func (h *handler) document() *document {
	now := h.entry.Instant(time.Now())
	bins, n := h.history.bins(now)
	d := &document{Schema: "otelgc.page/1", At: now, Requests: n, Percentiles: []percentile{}, Slowest: []documentRequest{}, Lost: h.lossList()}
	for _, b := range bins {
		p := percentile{From: b.From, To: b.To, Latency: b.Latency, Time: map[string]time.Duration{}}
		for g, t := range b.Time {
			if t > 0 {
				p.Time[strip.Group(g).String()] = t
			}
		}
		d.Percentiles = append(d.Percentiles, p)
	}
	for _, q := range h.history.slowest(now) {
		r := documentRequest{ID: q.id, Route: q.route, Start: q.span.Start, End: q.span.End, Total: q.share.Total, Share: map[string]time.Duration{}}
		if q.trace.IsValid() {
			r.Trace, r.Span = q.trace.TraceID().String(), q.trace.SpanID().String()
		}
		for p := range stall.NumParts {
			if t := *q.share.Of(p); t > 0 {
				r.Share[p.String()] = t
			}
		}
		r.Pieces, r.Coarse = q.pieces, q.coarse
		r.Capture, r.NotCaptured = q.captured.Get()
		d.Slowest = append(d.Slowest, r)
	}
	return d
}
