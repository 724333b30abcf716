package report

import (
	"bytes"
	"html"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/otelgc/otelgc/sidecar/internal/perfetto/perfettotest"
	"github.com/otelgc/otelgc/stall"
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
	for _, want := range []string{"this request</text>", html.EscapeString(r.Request.Sentence), "stops of the world</text>", "WHO HAD IT", "a median request, "} {
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
	tracks := map[uint64]string{}
	var begins []stall.Instant // of the pieces
	for _, p := range perfettotest.Decode(t, b.Bytes()) {
		if p.Descriptor != nil {
			tracks[p.Descriptor.ID] = p.Descriptor.Name
			continue
		}
		e := p.Event
		if e.Type != "TYPE_SLICE_BEGIN" {
			continue
		}
		switch tracks[e.Track] {
		case "request":
			q := r.Request
			want := map[string]any{
				"trace_id": q.TraceID, "span_id": q.SpanID, "sentence": q.Sentence, "coverage": q.Coverage, "fidelity": "exact",
			}
			for part, d := range q.Share {
				want[part.String()+"_ns"] = int64(d)
			}
			if diff := cmp.Diff(want, e.Args); diff != "" || e.Name != q.Route || e.At != uint64(q.Start) {
				t.Errorf("request %q at %d, want %q at %d, with (-want +got):\n%s", e.Name, e.At, q.Route, q.Start, diff)
			}
		case "who had its time":
			begins = append(begins, stall.Instant(e.At))
		}
	}
	var want []stall.Instant
	for _, p := range r.Request.Pieces {
		want = append(want, p.Start)
	}
	if diff := cmp.Diff(want, begins); diff != "" {
		t.Errorf("begins of the pieces (-want +got):\n%s", diff)
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
