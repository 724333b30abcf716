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
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
)

const (
	updateEvery = 2 * time.Second
	// maxListeners bounds how many pages are kept up to date at once.
	maxListeners = 16
	// writeLimit is how long one update may take to be written.
	writeLimit = 10 * time.Second
)

// policy lets the page use its own script and style sheet, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed page.js
var script string

//go:embed page.css
var style string

// Handler returns a handler that serves the page of m below the path that it is
// registered for, which ends in a slash. From then on it keeps the time of the requests of
// the last quarter of an hour, and the pieces of the slowest, in three megabytes at most.
// A nil Monitor has no page.
func Handler(m *otelgc.Monitor) http.Handler {
	if m == nil {
		return http.NotFoundHandler()
	}
	h := &handler{monitor: m, entry: entry.PageOf(m), history: newHistory(), every: updateEvery}
	h.entry.Observe(h.history)
	return h
}

type handler struct {
	monitor   *otelgc.Monitor
	entry     entry.Page
	history   *history
	listeners atomic.Int32
	every     time.Duration // between two updates
}

// ServeHTTP implements [http.Handler].
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	dir, name := path.Split(r.URL.Path)
	switch {
	case name == "" && path.Base(dir) != "request":
		h.serve(w, "text/html", h.index())
	case name == "page.js":
		h.serve(w, "text/javascript", script)
	case name == "page.css":
		h.serve(w, "text/css", style+strip.Style)
	case name == "data.json":
		h.serveJSON(w)
	case name == "events":
		h.serveEvents(w, r)
	case path.Base(dir) == "request":
		h.serveRequest(w, name)
	default:
		http.NotFound(w, r)
	}
}

func (h *handler) serve(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write([]byte(text)) // the browser is gone if not
}

// head begins a page; up leads to the directory of the page's files.
func head(title, up string) string {
	return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>` + title + `</title>
<link rel="stylesheet" href="` + up + `page.css"></head><body>` + strip.Defs + "\n"
}

// index returns the page.
func (h *handler) index() string {
	var b strings.Builder
	b.WriteString(head("otelgc", ""))
	b.WriteString("<main><h1>otelgc</h1>\n" + strip.Legend())
	sections := h.sections()
	for _, id := range sectionIDs {
		fmt.Fprintf(&b, "<section id=\"%s\">%s</section>\n", id, sections[id])
	}
	b.WriteString("<p id=\"state\" role=\"status\"></p></main><script src=\"page.js\"></script></body></html>\n")
	return b.String()
}

// serveEvents sends the sections again and again, until the browser is gone.
func (h *handler) serveEvents(w http.ResponseWriter, r *http.Request) {
	if h.listeners.Add(1) > maxListeners {
		h.listeners.Add(-1)
		http.Error(w, fmt.Sprintf("%d pages are open already", maxListeners), http.StatusServiceUnavailable)
		return
	}
	defer h.listeners.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	ticker := time.NewTicker(h.every)
	defer ticker.Stop()
	for {
		text, err := json.Marshal(h.sections())
		if err != nil {
			return
		}
		// A server may have a limit of its own for an answer, which this one outlives.
		_ = control.SetWriteDeadline(time.Now().Add(writeLimit))
		var event bytes.Buffer
		fmt.Fprintf(&event, "data: %s\n\n", text)
		if _, err := w.Write(event.Bytes()); err != nil || control.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-ticker.C:
		}
	}
}
