package report

import (
	"bytes"
	"html"
	"os"
	"strings"
	"testing"
)

// captured is a request that package otelgc/capture has kept.
const captured = "../../../internal/capturefile/testdata/go1.26.8.json"

// TestCaptured: the report of a captured request, in every form.
func TestCaptured(t *testing.T) { checkGolden(t, captured, "captured") }

// TestCapturedPage: the page draws the request once, and says once where its time went.
func TestCapturedPage(t *testing.T) {
	r, err := ReadFile(captured, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := r.PrintHTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"this request</text>", html.EscapeString(r.Request.Sentence), "stops of the world</text>", "WHO HAD IT"} {
		if n := strings.Count(page.String(), want); n != 1 {
			t.Errorf("the page has %q %d times, want once", want, n)
		}
	}
}

// TestCapturedPerfetto: the request is a slice with its trace id and charges, and its
// pieces are slices that fill it.
func TestCapturedPerfetto(t *testing.T) {
	r, err := ReadFile(captured, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := r.WritePerfetto(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"request", "who had its time", "coverage", r.Request.TraceID, r.Request.SpanID, "gc.assist_ns"} {
		if !bytes.Contains(b.Bytes(), []byte(want)) {
			t.Errorf("the trace has no %q", want)
		}
	}
	begins := map[uint64]bool{}
	list, _ := events(t, b.Bytes())
	for _, e := range list {
		begins[e.at] = true
	}
	for _, p := range r.Request.Pieces {
		if !begins[uint64(p.Start)] {
			t.Errorf("no event at %d, where a piece begins", p.Start)
		}
	}
}

// TestCapturedHostile: what a service calls a route is text.
func TestCapturedHostile(t *testing.T) {
	text, err := os.ReadFile(captured)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(`"route":"/orders"`), []byte(`"route":"<script>\u001b[31m"`))
	r, err := Read("x.json", bytes.NewReader(text), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var page, plain bytes.Buffer
	if err := r.PrintHTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := r.Print(&plain); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(page.String(), "<script") || strings.ContainsRune(page.String()+plain.String(), '\x1b') {
		t.Error("the route is more than text")
	}
}
