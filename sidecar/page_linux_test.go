package main

import (
	"strings"
	"syscall"
	"testing"

	"github.com/otelgc/otelgc/internal/livepage/browsertest"
)

// TestPageOutlivesRun: a page that stays open goes on by itself when the sidecar is
// started again.
func TestPageOutlivesRun(t *testing.T) {
	t.Parallel()
	begin := func(address string) (*background, string) {
		t.Helper()
		s := startSidecar(t, withoutExport, "run", "--board=off", "--mode=periodic", "--threshold=1us", "--page", address)
		url := ""
		s.await("it says where its page is", func() bool {
			if found := pageURL.FindStringSubmatch(s.log()); found != nil {
				url = found[1]
			}
			return url != ""
		})
		return s, url
	}
	first, url := begin("127.0.0.1:0")
	b := browsertest.Open(t, url)
	const gaps = `document.querySelectorAll("#gaps table tr").length > 1`
	const empty = `document.querySelector("#gaps").innerHTML = ""; true`
	b.Until(gaps)
	browsertest.Value[bool](b, empty)
	b.Until(gaps) // its script runs
	if err := first.end(syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v: %s", err, first.log())
	}
	b.Until(`document.querySelector("#state").innerText.includes("No answer")`)
	browsertest.Value[bool](b, empty)
	second, _ := begin(strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"))
	b.Until(`document.querySelector("#state").innerText === "" && ` + gaps)
	if err := second.end(syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v: %s", err, second.log())
	}
	for _, line := range b.Log {
		if !strings.Contains(line, "net::ERR_") { // the browser itself says that nobody answered
			t.Errorf("the page logs %s", line)
		}
	}
}
