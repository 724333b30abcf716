package page

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/livepage/browsertest"
)

var shownRequests = regexp.MustCompile(`(\d+) requests of the last quarter`)

// TestBrowser: a browser shows the page, keeps it up to date while 10,000 requests a second
// go on and when the service was away, shows a strip as wide as the sum of its bars, and complains
// of nothing, the policy least of all.
func TestBrowser(t *testing.T) {
	h := startedEvery(t, 50*time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	ended, served, begun := make(chan struct{}), 0, time.Now()
	app := h.monitor.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	go func() {
		defer close(ended)
		request := httptest.NewRequest("GET", "/fast?route=%3Cscript%3E", nil)
		for next := time.Now(); ctx.Err() == nil; next = next.Add(time.Millisecond) {
			for range 10 { // 10,000 a second
				app.ServeHTTP(httptest.NewRecorder(), request)
				served++
			}
			time.Sleep(time.Until(next))
		}
	}()
	defer func() {
		stop()
		<-ended
		t.Logf("%.0f requests a second", float64(served)/time.Since(begun).Seconds())
	}()
	mux := http.NewServeMux()
	mux.Handle("/debug/otelgc/", h)
	server := httptest.NewServer(mux)
	defer server.Close()

	b := browsertest.Open(t, server.URL+"/debug/otelgc/")
	b.Until(`document.querySelector("#slowest a") !== null`)
	requests := func() int {
		found := shownRequests.FindStringSubmatch(browsertest.Value[string](b, "document.body.innerText"))
		if found == nil {
			return 0
		}
		n, _ := strconv.Atoi(found[1])
		return n
	}
	first := requests()
	for deadline := time.Now().Add(30 * time.Second); requests() < first+200; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d requests are shown after %d: the page is not kept up to date", requests(), first)
		}
	}
	if !browsertest.Value[bool](b, `document.querySelector("#slowest").innerText.includes("<script>")`) {
		t.Error("a route is not shown as text")
	}
	if n := browsertest.Value[int](b, `document.scripts.length`); n != 1 {
		t.Errorf("the page has %d scripts, want its own", n)
	}
	server.CloseClientConnections() // as a service does that goes away, and is back
	before := requests()
	b.Until(fmt.Sprintf(`Number(document.body.innerText.match(/(\d+) requests of/)[1]) > %d + 200`, before))

	b.Audit()
	link := browsertest.Value[string](b, `document.querySelector("#slowest a").href`)
	b.Call("Page.navigate", map[string]any{"url": link})
	// Before the style sheet is there, a drawing has the 300 pixels that a browser gives any.
	b.Until(`document.readyState === "complete" && document.querySelector("figure.strip details") !== null`)
	const bars = `[...document.querySelectorAll("figure.strip > svg[role=img] rect")].filter(r => r.getAttribute("y") === "24" && r.getAttribute("class") !== "lane")`
	strip := browsertest.Value[float64](b, `document.querySelector("figure.strip > svg[role=img]").getBoundingClientRect().width`)
	sum := browsertest.Value[float64](b, bars+`.reduce((sum, r) => sum + r.getBoundingClientRect().width, 0)`)
	if sum < strip-1 || sum > strip+1 {
		t.Errorf("the bars take %v pixels of a strip of %v", sum, strip)
	}
	const cells = `[...document.querySelectorAll("figure.strip table tr")].map(r => r.cells)`
	parts := browsertest.Value[float64](b, cells+`.slice(1, -1).reduce((sum, c) => sum + Number(c[1].textContent), 0)`)
	all := browsertest.Value[float64](b, cells+`.at(-1)[1].textContent * 1`)
	if parts != all || all < float64(6*time.Millisecond) {
		t.Errorf("the parts of the table sum to %v ns, the request took %v", parts, all)
	}
	b.Audit()
	for _, line := range b.Log {
		if !strings.Contains(line, "ERR_INCOMPLETE_CHUNKED_ENCODING") { // when the service went away
			t.Errorf("the page logs %s", line)
		}
	}
}

// TestBrowserOutlivesService: a page that stays open goes on by itself when its service
// ends, when a proxy answers in its place, and when another run of it has the same port.
func TestBrowserOutlivesService(t *testing.T) {
	const every = 50 * time.Millisecond
	address := "127.0.0.1:0"
	serve := func(h http.Handler) *httptest.Server {
		t.Helper()
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		address = listener.Addr().String()
		server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: h}}
		server.Start()
		t.Cleanup(server.Close)
		return server
	}
	stop := func(s *httptest.Server) {
		s.CloseClientConnections()
		s.Close()
	}
	h := startedEvery(t, every)
	first := serve(h)
	b := browsertest.Open(t, first.URL+"/debug/otelgc/")
	b.Until(`document.querySelector("#percentiles").innerText.includes("200 requests")`)
	browsertest.Value[bool](b, `document.querySelector("#percentiles").innerHTML = ""; true`)
	b.Until(`document.querySelector("#percentiles").innerText.includes("200 requests")`) // its script runs
	stop(first)
	b.Until(`document.querySelector("#state").innerText.includes("No answer")`)

	var asked atomic.Int64
	proxy := serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "no service", http.StatusBadGateway)
	}))
	for deadline := time.Now().Add(time.Minute); asked.Load() < 2; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the page has asked %d times after it got an answer that is none of ours", asked.Load())
		}
	}
	stop(proxy)

	second := newHandler(h.monitor, every) // it has seen nothing
	app := h.monitor.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for range 50 {
		app.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/fast?route=fast", nil))
	}
	if err := h.monitor.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	serve(second)
	b.Until(`document.querySelector("#percentiles").innerText.startsWith("50 requests")`)
	b.Until(`document.querySelector("#state").innerText === ""`)
	for _, line := range b.Log {
		// The browser itself says that nobody answered.
		if !strings.Contains(line, "net::ERR_") && !strings.Contains(line, "status of 502") && !strings.Contains(line, "text/event-stream") {
			t.Errorf("the page logs %s", line)
		}
	}
}
