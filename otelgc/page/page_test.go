package page

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/livepage"
	"github.com/otelgc/otelgc/internal/noleak"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
)

// started returns a page of a monitor that has measured some requests, slow ones with a
// route that no page may trust.
func started(t *testing.T) *handler {
	t.Helper()
	return startedEvery(t, 0)
}

// startedEvery is started with a time between two updates.
func startedEvery(t *testing.T, every time.Duration) *handler {
	t.Helper()
	noleak.Check(t)
	m, err := otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(1), otelgc.WithRoute(func(r *http.Request) string { return r.URL.Query().Get("route") }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Shutdown(context.Background()) })
	h := newHandler(m, every)
	app := m.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			for end := time.Now().Add(3 * time.Millisecond); time.Now().Before(end); {
			}
			time.Sleep(3 * time.Millisecond)
		}
	}))
	for i := range 200 {
		target := "/fast?route=fast"
		if i%50 == 7 {
			target = "/slow?route=%3Cscript%3E"
		}
		app.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", target, nil))
	}
	if err := m.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func get(t *testing.T, h http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/debug/otelgc/"+target, nil))
	return w
}

// TestPage: the page and all that it loads are there, under a policy that allows nothing
// else, and what a program calls a route is text.
func TestPage(t *testing.T) {
	h := started(t)
	index := get(t, h, "")
	if index.Code != http.StatusOK || index.Header().Get("Content-Security-Policy") != livepage.Policy {
		t.Errorf("status %d, policy %q", index.Code, index.Header().Get("Content-Security-Policy"))
	}
	for _, want := range []string{"200 requests", "by percentile", `href="page.css"`, `src="page.js"`, "&lt;script&gt;", `href="request/`} {
		if !strings.Contains(index.Body.String(), want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, not := range []string{"<script>", "style=", "onclick", "http://", "https://"} {
		if strings.Contains(index.Body.String(), not) {
			t.Errorf("the page has %q, which its policy forbids", not)
		}
	}
	for name, kind := range map[string]string{"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8", "data.json": "application/json"} {
		if w := get(t, h, name); w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind || w.Body.Len() == 0 {
			t.Errorf("%s: status %d, %s, %d bytes", name, w.Code, w.Header().Get("Content-Type"), w.Body.Len())
		}
	}
	wellFormed(t, index.Body.String())
}

func wellFormed(t *testing.T, page string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("page is not well-formed: %v", err)
		}
	}
}

// TestData: the pieces of each slow request fill it and sum to its share, and the
// percentiles have the time of all requests.
func TestData(t *testing.T) {
	h := started(t)
	var d document
	if err := json.Unmarshal(get(t, h, "data.json").Body.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	if d.Requests != 200 || len(d.Slowest) != keptSlowest {
		t.Fatalf("%d requests, and %d slow ones, want 200 and %d", d.Requests, len(d.Slowest), keptSlowest)
	}
	slow := 0
	for _, q := range d.Slowest {
		at, sums := q.Start, map[string]time.Duration{}
		for _, p := range q.Pieces {
			if p.Start != at {
				t.Errorf("piece begins at %d, the one before ends at %d", p.Start, at)
			}
			sums[p.Part.String()] += p.End.Sub(p.Start)
			at = p.End
		}
		if at != q.End || q.End.Sub(q.Start) != q.Total {
			t.Errorf("pieces end at %d, the request of %v from %d at %d", at, q.Total, q.Start, q.End)
		}
		for part, d := range q.Share {
			if sums[part] != d {
				t.Errorf("%s: %v of pieces, %v charged", part, sums[part], d)
			}
		}
		// So many as are kept took so long at the least. Where the machine held up another
		// for longer, that one is among them rightly.
		if q.Total < 6*time.Millisecond {
			t.Errorf("%q of %v is among the slowest", q.Route, q.Total)
		}
		if q.Route == "<script>" {
			slow++
		}
	}
	if slow == 0 {
		t.Error("none of the slowest has the route of those that sleep")
	}
	if d.Percentiles[0].From != 0 || d.Percentiles[len(d.Percentiles)-1].To != 1 {
		t.Errorf("percentiles %+v", d.Percentiles)
	}
}

// TestRequest: each of the slowest requests has its strip; what is not kept says so.
func TestRequest(t *testing.T) {
	h := started(t)
	list := h.history.slowest(h.entry.Instant(time.Now()))
	w := get(t, h, "request/"+jsonNumber(list[0].id))
	for _, want := range []string{"this request", "all requests", "In numbers", `href="../page.css"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("the page of a request has no %q", want)
		}
	}
	wellFormed(t, w.Body.String())
	for _, name := range []string{"0", "999", "x", "-1", ""} {
		if w := get(t, h, "request/"+name); w.Code != http.StatusNotFound {
			t.Errorf("request %q: status %d, want 404", name, w.Code)
		}
	}
}

func jsonNumber(n uint64) string {
	text, _ := json.Marshal(n)
	return string(text)
}

// TestMethods: nothing but looking is possible, and only what is there can be looked at.
func TestMethods(t *testing.T) {
	h := started(t)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("POST", "/debug/otelgc/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: status %d", w.Code)
	}
	if w := get(t, h, "other"); w.Code != http.StatusNotFound {
		t.Errorf("another name: status %d", w.Code)
	}
	w = httptest.NewRecorder()
	Handler(nil).ServeHTTP(w, httptest.NewRequest("GET", "/debug/otelgc/", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("page of no monitor: status %d", w.Code)
	}
}

// TestEvents: a page is sent all its sections.
func TestEvents(t *testing.T) {
	server := httptest.NewServer(started(t))
	defer server.Close()
	answer, err := server.Client().Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	text, is := "", false
	for !is && lines.Scan() {
		text, is = strings.CutPrefix(lines.Text(), "data: ")
	}
	var sections map[string]string
	if err := json.Unmarshal([]byte(text), &sections); err != nil {
		t.Fatal(err)
	}
	for _, id := range sectionIDs {
		if _, is := sections[id]; !is {
			t.Errorf("no section %s is sent", id)
		}
	}
}

// TestEmpty: a page of a monitor that has seen nothing.
func TestEmpty(t *testing.T) {
	noleak.Check(t)
	m, err := otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(0))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	h := Handler(m)
	if w := get(t, h, ""); !strings.Contains(w.Body.String(), "No request has ended") {
		t.Errorf("page of nothing: %s", w.Body)
	}
	if text := get(t, h, "data.json").Body.String(); !strings.Contains(text, `"requests":0`) {
		t.Errorf("data of nothing: %s", text)
	}
}

// BenchmarkSections is what an update costs while somebody looks: one every two seconds.
func BenchmarkSections(b *testing.B) {
	m, err := otelgc.Start(otelgc.WithBoard(""), otelgc.WithExactBudget(0))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	h := Handler(m).(*handler)
	now := h.entry.Instant(time.Now())
	for i := range stall.Instant(15 * 60 * 100) {
		seen(h.history, now-i*stall.Instant(10*time.Millisecond), time.Duration(1000+i*7919%1_000_000), 100)
	}
	for b.Loop() {
		h.sections()
	}
}
