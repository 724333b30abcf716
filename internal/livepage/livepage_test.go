package livepage

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/internal/noleak"
)

// counted is a page whose one section counts how often it was asked for.
func counted() *Page {
	var n atomic.Int64
	return &Page{
		Title: "counted", IDs: []string{"n"}, Every: 5 * time.Millisecond,
		Sections: func() map[string]string { return map[string]string{"n": strconv.FormatInt(n.Add(1), 10)} },
		Document: func() any { return map[string]int{"a": 1} },
		Items:    "item", Item: func(w http.ResponseWriter, name string) { ServeItem(w, "an item", "named "+name) },
		Style: "#n{color:red}\n",
	}
}

func get(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, "/below/"+target, nil))
	return w
}

// TestServes: what belongs to the page is there, all of it under the policy, and nothing
// else is.
func TestServes(t *testing.T) {
	p := counted()
	for _, test := range []struct {
		method, target string
		code           int
		kind, has      string
	}{
		{"GET", "", 200, "text/html; charset=utf-8", `<section id="n">1</section>`},
		{"GET", "page.js", 200, "text/javascript; charset=utf-8", "EventSource"},
		{"GET", "page.css", 200, "text/css; charset=utf-8", "#n{color:red}"},
		{"GET", "data.json", 200, "application/json", `{"a":1}`},
		{"GET", "item/x", 200, "text/html; charset=utf-8", "named x"},
		{"GET", "item/", 200, "text/html; charset=utf-8", "named <"},
		{"GET", "other", 404, "text/plain; charset=utf-8", ""},
		{"HEAD", "", 200, "text/html; charset=utf-8", ""},
		{"POST", "", 405, "text/plain; charset=utf-8", ""},
		{"DELETE", "data.json", 405, "text/plain; charset=utf-8", ""},
	} {
		w := get(p, test.method, test.target)
		if w.Code != test.code || w.Header().Get("Content-Type") != test.kind || !strings.Contains(w.Body.String(), test.has) {
			t.Errorf("%s %q: status %d, %s, %s", test.method, test.target, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
		if got := w.Header().Get("Content-Security-Policy"); got != Policy && test.code != 405 {
			t.Errorf("%s %q: policy %q", test.method, test.target, got)
		}
	}
}

// TestEvents: a page is kept up to date until it is closed, longer than a server lets
// others read and write, and so many at once.
func TestEvents(t *testing.T) {
	noleak.Check(t)
	p := counted()
	server := httptest.NewUnstartedServer(p)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 200*time.Millisecond, 200*time.Millisecond
	server.Start()
	defer server.Close()
	ctx, closePage := context.WithCancel(t.Context())
	defer closePage()
	r, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	n := 0
	for (time.Since(begun) < 500*time.Millisecond || n < 3) && lines.Scan() {
		text, is := strings.CutPrefix(lines.Text(), "data: ")
		if !is {
			continue
		}
		n++
		var got map[string]string
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(map[string]string{"n": strconv.Itoa(n)}, got); d != "" {
			t.Fatalf("sections (-want +got):\n%s", d)
		}
	}
	if err := lines.Err(); err != nil || n < 3 {
		t.Errorf("%d updates, then %v", n, err)
	}
	p.listeners.Store(MaxListeners)
	if w := get(p, "GET", "events"); w.Code != http.StatusServiceUnavailable {
		t.Errorf("one page too many: status %d, want 503", w.Code)
	}
	p.listeners.Store(1)
	closePage()
	for deadline := time.Now().Add(10 * time.Second); p.listeners.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the page is still sent after it was closed")
		}
	}
}
