package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/livepage/browsertest"
	"github.com/otelgc/otelgc/sidecar/internal/target"
)

// serve serves a page with something of everything, at an address.
func serve(t *testing.T, address string) (*Page, *Server) {
	t.Helper()
	p := newPage(t)
	p.Every = 50 * time.Millisecond
	fill(p)
	l, err := Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(l, p)
	t.Cleanup(s.Close)
	return p, s
}

// TestBrowser: a browser shows the page, keeps it up to date, also over a restart of the
// sidecar, complains of nothing, the policy least of all, and everybody can use it.
func TestBrowser(t *testing.T) {
	p, s := serve(t, "127.0.0.1:0")
	b := browsertest.Open(t, s.URL())
	b.Until(`document.querySelector("#processes a") !== null`)
	if !browsertest.Value[bool](b, `document.querySelector("#processes").innerText.includes("<script>alert(1)</script>")`) {
		t.Error("the name of a process is not shown as text")
	}
	if n := browsertest.Value[int](b, `document.scripts.length`); n != 1 {
		t.Errorf("the page has %d scripts, want its own", n)
	}
	p.Gap(gap(p.o.Clock.Now(), 77*time.Millisecond, "late"))
	b.Until(`document.querySelector("#gaps table").innerText.includes("77.0 ms")`)
	p.Record(collection(1, 99, p.o.Clock.Now(), 88*time.Millisecond))
	b.Until(`document.querySelector("#processes").innerText.includes("GC 99,")`)
	p.Progress(target.Progress{ID: 1, Over: true, Summary: target.Summary{PID: 42, Sessions: 1, Why: "the process ended"}})
	b.Until(`document.querySelectorAll("#processes tr td:last-child").length > 0 && document.querySelector("#processes table").innerText.split("the process ended").length === 3`)
	b.Audit()
	// A table that is scrolled by the keyboard stays where it is, and goes on.
	b.Call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": false})
	browsertest.Value[bool](b, `{ const t = document.querySelector("#processes table"); t.focus(); t.scrollLeft = 40; true }`)
	p.Progress(target.Progress{ID: 9, Summary: target.Summary{PID: 4711, Sessions: 1}})
	b.Until(`document.querySelector("#processes table").innerText.includes("4711")`)
	b.Until(`document.activeElement === document.querySelector("#processes table") && document.activeElement.scrollLeft === 40`)
	b.Audit()
	if len(b.Log) > 0 {
		t.Errorf("the page logs %s", b.Log)
	}

	s.Close()
	b.Until(`document.querySelector("#state").innerText.includes("No answer")`)
	p, _ = serve(t, strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/"))
	for i := range 3 {
		p.Gap(gap(p.o.Clock.Now(), time.Duration(101+i)*time.Millisecond, "again"))
		b.Until(fmt.Sprintf(`document.querySelector("#gaps table").innerText.includes("%d ms")`, 101+i))
	}
	b.Until(`document.querySelector("#state").innerText === ""`)

	link := browsertest.Value[string](b, `document.querySelector("#processes a").href`)
	b.Call("Page.navigate", map[string]any{"url": link})
	b.Until(`document.querySelector("figure.strip details") !== null`)
	b.Audit()
	for _, line := range b.Log {
		if !strings.Contains(line, "net::ERR_") { // the browser itself says that nobody answered
			t.Errorf("the page logs %s", line)
		}
	}
}
