// Package livepage serves a page that a browser keeps up to date: sections of HTML that
// are sent again and again, a page for each of some items, and data.json with the same for
// programs. It loads nothing from elsewhere, and a strict policy says so to the browser.
//
// What a section shows is its owner's affair, and so is the escaping of it.
package livepage

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
)

const (
	// DefaultEvery is the time between two updates.
	DefaultEvery = 2 * time.Second
	// MaxListeners bounds how many pages are kept up to date at once.
	MaxListeners = 16
	// writeLimit is how long one update may take to be written.
	writeLimit = 10 * time.Second
)

// Policy lets a page use its own script and style sheet, and nothing else.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

//go:embed page.js
var script string

//go:embed page.css
var style string

// Page is an [http.Handler] of one page and what belongs to it, below a path that ends in a
// slash. Its fields are set before it serves. Its functions are called by many goroutines.
type Page struct {
	// Title is the heading, and Lead is HTML behind it.
	Title, Lead string
	// IDs are those of the sections, in order.
	IDs []string
	// Sections returns the sections as HTML, by ID.
	Sections func() map[string]string
	// Document returns what is encoded as data.json.
	Document func() any
	// Items names the directory of the pages of items, empty for none. Item serves the
	// one with a name, which may be any text.
	Items string
	Item  func(w http.ResponseWriter, name string)
	// Style is added to the style sheet.
	Style string
	// Every is the time between two updates, DefaultEvery if zero.
	Every time.Duration

	listeners atomic.Int32
}

// ServeHTTP implements [http.Handler].
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "want GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", Policy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	header.Set("Referrer-Policy", "no-referrer")
	dir, name := path.Split(r.URL.Path)
	item := p.Items != "" && path.Base(dir) == p.Items
	switch {
	case name == "" && !item:
		p.serveIndex(w)
	case name == "page.js":
		serve(w, "text/javascript", script)
	case name == "page.css":
		serve(w, "text/css", style+p.Style+strip.Style)
	case name == "data.json":
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(p.Document()) // the browser is gone if not
	case name == "events":
		p.serveEvents(w, r)
	case item:
		p.Item(w, name)
	default:
		http.NotFound(w, r)
	}
}

func serve(w http.ResponseWriter, kind, text string) {
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write([]byte(text)) // the browser is gone if not
}

// head begins a page; up leads to the directory of the page's files.
func head(title, up string) string {
	return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>` + title + `</title>
<link rel="stylesheet" href="` + up + `page.css"></head><body>` + strip.Defs + "\n"
}

func (p *Page) serveIndex(w http.ResponseWriter) {
	var b strings.Builder
	b.WriteString(head(p.Title, ""))
	fmt.Fprintf(&b, "<main><h1>%s</h1>\n%s", p.Title, p.Lead)
	sections := p.Sections()
	for _, id := range p.IDs {
		fmt.Fprintf(&b, "<section id=\"%s\">%s</section>\n", id, sections[id])
	}
	b.WriteString("<p id=\"state\" role=\"status\"></p></main><script src=\"page.js\"></script></body></html>\n")
	serve(w, "text/html", b.String())
}

// ServeItem serves the page of an item, with HTML as its title and its main part.
func ServeItem(w http.ResponseWriter, title, main string) {
	serve(w, "text/html", head(title, "../")+"<main>"+main+"</main></body></html>\n")
}

// serveEvents sends the sections again and again, until the browser is gone.
func (p *Page) serveEvents(w http.ResponseWriter, r *http.Request) {
	if p.listeners.Add(1) > MaxListeners {
		p.listeners.Add(-1)
		http.Error(w, fmt.Sprintf("%d pages are open already", MaxListeners), http.StatusServiceUnavailable)
		return
	}
	defer p.listeners.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	// A server may have limits of its own for a request and for an answer, which this
	// one outlives.
	_ = control.SetReadDeadline(time.Time{})
	every := p.Every
	if every == 0 {
		every = DefaultEvery
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		text, err := json.Marshal(p.Sections())
		if err != nil {
			return
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeLimit))
		var event bytes.Buffer
		fmt.Fprintf(&event, "retry: %d\ndata: %s\n\n", every.Milliseconds(), text)
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
