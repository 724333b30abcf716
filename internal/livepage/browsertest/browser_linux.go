package browsertest

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/websocket"
)

// Browser is a Chromium with one page, driven over its protocol.
type Browser struct {
	// Log is what the page has logged, errors and violations of its policy among it.
	Log []string

	t    testing.TB
	ws   *websocket.Conn
	last int
}

// Open opens a page in a browser that ends with the test. It skips the test if there is
// no browser.
func Open(t testing.TB, url string) *Browser {
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
	b := &Browser{t: t}
	if b.ws, err = websocket.Dial(pages[0].WebSocketDebuggerURL, "", "http://127.0.0.1"); err != nil {
		t.Fatal(err)
	}
	b.ws.MaxPayloadBytes = 64 << 20
	t.Cleanup(func() { _ = b.ws.Close() })
	for _, method := range []string{"Log.enable", "Runtime.enable", "Page.enable"} {
		b.Call(method, nil)
	}
	b.Call("Page.navigate", map[string]any{"url": url})
	return b
}

// Call calls a method and returns its result. What the page logs meanwhile is kept.
func (b *Browser) Call(method string, params map[string]any) json.RawMessage {
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
			b.Log = append(b.Log, string(m.Params))
		case m.ID == b.last && m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error)
		case m.ID == b.last:
			return m.Result
		}
	}
}

// Value evaluates an expression of JavaScript, and decodes what it yields.
func Value[T any](b *Browser, expression string) (v T) {
	b.t.Helper()
	var r struct{ Result struct{ Value T } }
	text := b.Call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true})
	if err := json.Unmarshal(text, &r); err != nil {
		b.t.Fatalf("%s: %v: %s", expression, err, text)
	}
	return r.Result.Value
}

// Until waits until an expression is true.
func (b *Browser) Until(expression string) {
	b.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !Value[bool](b, expression); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not so after 30 s: %s; the page: %s", expression, Value[string](b, "document.body.innerText"))
		}
	}
}

// Audit has axe-core look whether people can use the page who cannot see it well.
func (b *Browser) Audit() {
	b.t.Helper()
	axe, err := os.ReadFile(os.Getenv("OTELGC_AXE"))
	if err != nil {
		b.t.Logf("not audited: axe-core is not there, see .ci/run npm")
		return
	}
	b.Call("Runtime.evaluate", map[string]any{"expression": string(axe)})
	b.Call("Runtime.evaluate", map[string]any{"expression": `axe.run().then(r => window.audited = r.violations.map(v => v.id + ": " + v.help + ": " + v.nodes[0].html).join("; "))`})
	b.Until(`typeof window.audited === "string"`)
	if found := Value[string](b, `window.audited`); found != "" {
		b.t.Errorf("axe-core finds %s", found)
	}
}
