package main

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPageInUse: a run whose page has no port says so in one line, before it probes.
func TestPageInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	address := l.Addr().String()
	_, stderr, code := sidecar(t, withoutExport, "run", "--board=off", "--page", address)
	want := "otelgc-sidecar: run: --page " + address + ": address already in use: name another port, or 0 for any that is free\n"
	if code != 1 || stderr != want {
		t.Errorf("exit %d, stderr %q, want exit 1 and %q", code, stderr, want)
	}
}

var pageURL = regexp.MustCompile(`msg=page url=(http://127\.0\.0\.1:[0-9]+/)`)

// TestPageOfRun: the page of a run has its probe and its gaps, is shown to nobody who asks
// for another name, and ends with the run, though somebody looks.
func TestPageOfRun(t *testing.T) {
	t.Parallel()
	b := startSidecar(t, withoutExport, "run", "--board=off", "--mode=periodic", "--threshold=1us", "--page=127.0.0.1:0")
	url := ""
	b.await("it says where its page is", func() bool {
		if found := pageURL.FindStringSubmatch(b.log()); found != nil {
			url = found[1]
		}
		return url != ""
	})
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	type document struct {
		Schema string
		Probes []struct {
			Mode  string
			Total uint64
		}
		Gaps []struct{ Start, End int64 }
	}
	var d document
	b.await("its page has gaps", func() bool {
		answer, err := client.Get(url + "data.json")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		d = document{}
		if err := json.NewDecoder(answer.Body).Decode(&d); err != nil {
			t.Fatal(err)
		}
		return len(d.Probes) == 1 && d.Probes[0].Total > 0 && len(d.Gaps) > 0
	})
	if d.Schema != "otelgc.sidecar.page/1" || d.Probes[0].Mode != "periodic" || d.Gaps[0].End <= d.Gaps[0].Start {
		t.Errorf("data.json %+v", d)
	}
	r, err := http.NewRequest("GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example"
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("asked by another name: status %d, want 421", answer.StatusCode)
	}

	events, err := client.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = events.Body.Close() }()
	lines := bufio.NewScanner(events.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() && !strings.Contains(lines.Text(), "data: ") {
	}
	if err := b.end(syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v: %s", err, b.log())
	}
	for lines.Scan() {
	}
	if _, err := net.DialTimeout("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/"), time.Minute); err == nil {
		t.Error("somebody still listens")
	}
}
