// Package page shows what a Monitor sees in a browser, live:
//
//	mux.Handle("/debug/otelgc/", page.Handler(m))
//
// Who had the time of the requests, by percentile; the pauses of the last minutes; the
// slowest requests of the last quarter of an hour, each as a strip on one clock; and what
// of the telemetry was lost. data.json beside it has the same for programs.
//
// What it keeps costs 0.13 us a request, off the request's path; while a page is open, an
// update every two seconds costs 0.7 ms (BenchmarkSee, BenchmarkSections).
//
// The page loads nothing from elsewhere. It shows the routes and the trace ids of
// requests: whoever may not see those shall not reach it, as with net/http/pprof.
package page

import (
	"net/http"
	"time"

	"github.com/otelgc/otelgc/internal/livepage"
	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
)

// Handler returns a handler that serves the page of m below the path that it is
// registered for, which ends in a slash. From then on it keeps the time of the requests of
// the last quarter of an hour, and the pieces of the slowest, in three megabytes at most.
// A nil Monitor has no page.
func Handler(m *otelgc.Monitor) http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	return newHandler(m, 0)
}

// style lets the sentences about the slowest requests wrap.
const style = "#slowest td:last-child{white-space:normal;min-width:20em}\n"

// handler is the content of a page.
type handler struct {
	*livepage.Page
	monitor *otelgc.Monitor
	entry   entry.Page
	history *history
}

func newHandler(m *otelgc.Monitor, every time.Duration) *handler {
	h := &handler{monitor: m, entry: entry.PageOf(m), history: newHistory()}
	h.Page = &livepage.Page{
		Title: "otelgc", Lead: strip.Legend(), IDs: sectionIDs, Sections: h.sections,
		Document: func() any { return h.document() }, Items: "request", Item: h.serveRequest, Style: style, Every: every,
	}
	h.entry.Observe(h.history)
	return h
}
