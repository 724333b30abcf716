package page

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/websocket"
)

// browser is a Chromium with one page, driven over its protocol.
type browser struct {
	t    *testing.T
	ws   *websocket.Conn
	last int
	log  []string // what the page has logged, errors and violations of its policy among it
}

// browse opens a page.
func browse(t *testing.T, url string) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("skipped: chromium is not installed")
	}
	dir, err := os.MkdirTemp("", "otelgc-page-")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--user-data-dir="+dir, "--remote-debugging-port=0", "--remote-allow-origins=*", "about:blank")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it has children
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended by now
		_ = cmd.Wait()
		// Its children write into the directory until they have ended, too.
		for n := 0; os.RemoveAll(dir) != nil && n < 100; n++ {
			time.Sleep(20 * time.Millisecond)
		}
	})
	var port string
	for deadline := time.Now().Add(time.Minute); port == ""; time.Sleep(20 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(dir, "DevToolsActivePort"))
		port, _, _ = strings.Cut(string(text), "\n")
		if time.Now().After(deadline) {
			t.Fatal("chromium does not come up")
		}
	}
	answer, err := http.Get("http://127.0.0.1:" + port + "/json/list")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var pages []struct {
		Type                 string
		WebSocketDebuggerURL string `json:"webSocketDebuggerUrl"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&pages); err != nil || len(pages) == 0 {
		t.Fatalf("pages of chromium: %v, %v", pages, err)
	}
	b := &browser{t: t}
	if b.ws, err = websocket.Dial(pages[0].WebSocketDebuggerURL, "", "http://127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	b.ws.MaxPayloadBytes = 64 << 20
	t.Cleanup(func() { _ = b.ws.Close() })
	for _, method := range []string{"Log.enable", "Runtime.enable", "Page.enable"} {
		b.call(method, nil)
	}
	b.call("Page.navigate", map[string]any{"url": url})
	return b
}

// call calls a method and returns its result. What the page logs meanwhile is kept.
func (b *browser) call(method string, params map[string]any) json.RawMessage {
	b.t.Helper()
	b.last++
	if err := websocket.JSON.Send(b.ws, map[string]any{"id": b.last, "method": method, "params": params}); err != nil {
		b.t.Fatal(err)
	}
	_ = b.ws.SetReadDeadline(time.Now().Add(time.Minute))
	for {
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  json.RawMessage
		}
		if err := websocket.JSON.Receive(b.ws, &m); err != nil {
			b.t.Fatalf("%s: %v", method, err)
		}
		switch {
		case m.Method == "Log.entryAdded" || m.Method == "Runtime.consoleAPICalled" || m.Method == "Runtime.exceptionThrown":
			b.log = append(b.log, string(m.Params))
		case m.ID == b.last && m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error)
		case m.ID == b.last:
			return m.Result
		}
	}
}

// value evaluates an expression of JavaScript, and decodes what it yields.
func value[T any](b *browser, expression string) (v T) {
	b.t.Helper()
	var r struct{ Result struct{ Value T } }
	text := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
	if err := json.Unmarshal(text, &r); err != nil {
		b.t.Fatalf("%s: %v: %s", expression, err, text)
	}
	return r.Result.Value
}

// until waits until an expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !value[bool](b, expression); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not so after 30 s: %s; the page: %s", expression, value[string](b, "document.body.innerText"))
		}
	}
}

// audit has axe-core look whether people can use the page who cannot see it well.
func (b *browser) audit() {
	b.t.Helper()
	axe, err := os.ReadFile(os.Getenv("OTELGC_AXE"))
	if err != nil {
		b.t.Logf("not audited: axe-core is not there, see .ci/run npm")
		return
	}
	b.call("Runtime.evaluate", map[string]any{"expression": string(axe)})
	b.call("Runtime.evaluate", map[string]any{"expression": `axe.run().then(r => window.audited = r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes[0].html).join("; "))`})
	b.until(`typeof window.audited === "string"`)
	if found := value[string](b, `window.audited`); found != "" {
		b.t.Errorf("axe-core finds %s", found)
	}
}

var shownRequests = regexp.MustCompile(`(\d+) requests of the last quarter`)

// TestBrowser: a browser shows the page, keeps it up to date while 10,000 requests a second
// go on and when the service was away, shows a strip as wide as the sum of its bars, and complains
// of nothing, the policy least of all.
func TestBrowser(t *testing.T) {
	h := started(t)
	h.every = 50 * time.Millisecond
	ctx, stop := context.WithCancel(t.Context())
	ended, served, begun := make(chan struct{}), 0, time.Now()
	app := h.monitor.Middleware(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	go func() {
		defer close(ended)
		request := httptest.NewRequest("GET", "/fast?route=fast", nil)
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

	b := browse(t, server.URL+"/debug/otelgc/")
	b.until(`document.querySelector("#slowest a") !== null`)
	requests := func() int {
		found := shownRequests.FindStringSubmatch(value[string](b, "document.body.innerText"))
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
	if !value[bool](b, `document.querySelector("#slowest").innerText.includes("<script>")`) {
		t.Error("a route is not shown as text")
	}
	if n := value[int](b, `document.scripts.length`); n != 1 {
		t.Errorf("the page has %d scripts, want its own", n)
	}
	server.CloseClientConnections() // as a service does that goes away, and is back
	before := requests()
	b.until(fmt.Sprintf(`Number(document.body.innerText.match(/(\d+) requests of/)[1]) > %d + 200`, before))

	b.audit()
	link := value[string](b, `document.querySelector("#slowest a").href`)
	b.call("Page.navigate", map[string]any{"url": link})
	b.until(`document.querySelector("figure.strip details") !== null`)
	const bars = `[...document.querySelectorAll("figure.strip > svg[role=img] rect")].filter(r => r.getAttribute("y") === "24" && r.getAttribute("class") !== "lane")`
	strip := value[float64](b, `document.querySelector("figure.strip > svg[role=img]").getBoundingClientRect().width`)
	sum := value[float64](b, bars+`.reduce((sum, r) => sum + r.getBoundingClientRect().width, 0)`)
	if sum < strip-1 || sum > strip+1 {
		t.Errorf("the bars take %v pixels of a strip of %v", sum, strip)
	}
	const cells = `[...document.querySelectorAll("figure.strip table tr")].map(r => r.cells)`
	parts := value[float64](b, cells+`.slice(1, -1).reduce((sum, c) => sum + Number(c[1].textContent), 0)`)
	all := value[float64](b, cells+`.at(-1)[1].textContent * 1`)
	if parts != all || all < float64(6*time.Millisecond) {
		t.Errorf("the parts of the table sum to %v ns, the request took %v", parts, all)
	}
	b.audit()
	for _, line := range b.log {
		if !strings.Contains(line, "ERR_INCOMPLETE_CHUNKED_ENCODING") { // when the service went away
			t.Errorf("the page logs %s", line)
		}
	}
}
