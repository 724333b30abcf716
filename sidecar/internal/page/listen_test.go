package page

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/otelgc/otelgc/internal/noleak"
)

func TestCheckAddress(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:0": "", "127.1.2.3:65535": "", "[::1]:80": "", "localhost:8081": "", "LOCALHOST:1": "", "[::ffff:127.0.0.1]:1": "",
		"0.0.0.0:80": "alone", "[::]:80": "alone", ":80": "alone", "10.0.0.1:80": "alone", "example.com:80": "alone", "localhost.evil.example:80": "alone",
		"127.0.0.1.evil.example:80": "alone", "127.1:80": "alone", "[::ffff:10.0.0.1]:1": "alone",
		"127.0.0.1": "host and a port", "127.0.0.1:": "0 to 65535", "127.0.0.1:http": "0 to 65535", "127.0.0.1:65536": "0 to 65535", "127.0.0.1:-1": "0 to 65535",
	} {
		err := CheckAddress(address)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
		if errors.Is(err, ErrNotLoopback) != (want == "alone") {
			t.Errorf("%s: %v is the wrong error", address, err)
		}
	}
}

// TestGuard: a page that a name of somebody else leads to is not shown, and other sites
// take no part of it.
func TestGuard(t *testing.T) {
	h := guarded(newPage(t))
	for _, test := range []struct {
		host, site, mode string
		want             int
	}{
		{"127.0.0.1:8081", "", "", 200}, {"localhost:8081", "", "", 200}, {"localhost", "", "", 200}, {"[::1]:8081", "", "", 200}, {"[::1]", "", "", 200},
		{"evil.example:8081", "", "", 421}, {"evil.example", "", "", 421}, {"127.0.0.1.evil.example", "", "", 421}, {"10.0.0.1:8081", "", "", 421}, {"", "", "", 421},
		{"127.0.0.1:8081", "same-origin", "cors", 200}, {"127.0.0.1:8081", "none", "navigate", 200}, {"127.0.0.1:8081", "cross-site", "navigate", 200},
		{"127.0.0.1:8081", "cross-site", "cors", 403}, {"127.0.0.1:8081", "cross-site", "no-cors", 403}, {"127.0.0.1:8081", "same-site", "cors", 403},
	} {
		for _, path := range []string{"/", "/data.json", "/page.js"} {
			r := httptest.NewRequest("GET", path, nil)
			r.Host = test.host
			r.Header.Set("Sec-Fetch-Site", test.site)
			r.Header.Set("Sec-Fetch-Mode", test.mode)
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != test.want {
				t.Errorf("%s of host %q, %s %s: status %d, want %d", path, test.host, test.site, test.mode, w.Code, test.want)
			}
		}
	}
}

// TestServe: a page that is open does not keep its server from ending, nor does a
// connection that says nothing; a header that is too long is refused.
func TestServe(t *testing.T) {
	noleak.Check(t)
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(l.Addr().String()); err == nil {
		t.Error("a second server listens at the address of the first")
	}
	s := Serve(l, newPage(t))
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	events, err := client.Get(s.URL() + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Body.Close() }()
	silent, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	r, err := http.NewRequest("GET", s.URL(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Long", strings.Repeat("x", 2*maxHeader))
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a long header: status %d", answer.StatusCode)
	}
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		t.Fatalf("no update: %v", lines.Err())
	}
	s.Close()
	for lines.Scan() {
	}
	_ = silent.SetReadDeadline(time.Now().Add(time.Minute)) // a guard
	if _, err := silent.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("the silent connection: %v", err)
	}
	s.Close()
	(*Server)(nil).Close()
}
