package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/internal/recording"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// TestPictures: the page of a trace and of a capture has each stop, the heap, and the
// longest pauses as strips; the text has none.
func TestPictures(t *testing.T) {
	for _, file := range []string{
		"../../../internal/gotrace/testdata/go1.26.8.trace",
		"../../../internal/nettrace/testdata/gen0_256k.nettrace",
	} {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r, err := ReadFile(file, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var page, text bytes.Buffer
			if err := r.PrintHTML(&page); err != nil {
				t.Fatal(err)
			}
			if err := r.Print(&text); err != nil {
				t.Fatal(err)
			}
			for _, title := range []string{"Pauses over time", "HOW LONG THE STOPS WERE", "The heap before and after", "Pause 1 by length", "Pause 3 by length"} {
				if !strings.Contains(page.String(), title) {
					t.Errorf("the page has no %q", title)
				}
				if strings.Contains(text.String(), title) {
					t.Errorf("the text has %q", title)
				}
			}
			d := xml.NewDecoder(&page)
			d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
			for {
				if _, err := d.Token(); err == io.EOF {
					return
				} else if err != nil {
					t.Fatalf("the page is not well-formed: %v", err)
				}
			}
		})
	}
}

// TestStripOfAPause: its pieces fill it, and the pause is in it as long as it was.
func TestStripOfAPause(t *testing.T) {
	r, err := ReadFile("../../../internal/gotrace/testdata/go1.26.8.trace", Options{})
	if err != nil {
		t.Fatal(err)
	}
	stops := r.pausesOf(0)
	for i, worst := range r.longest(shownStrips) {
		pause := stall.Span{Start: worst.Pause.Start, End: worst.Pause.End}
		s := r.strip(i+1, pause, worst.Collection, stops)
		at := s.Span().Start
		found := false
		for _, p := range s.Pieces {
			if p.Start != at {
				t.Errorf("pause %d: piece from %d after %d", i, p.Start, at)
			}
			at = p.End
			found = found || p.Start == pause.Start && p.End == pause.End && p.Part == stall.Part(stall.GCPause)
		}
		if !found {
			t.Errorf("pause %d from %d to %d is not in its strip: %+v", i, pause.Start, pause.End, s.Pieces)
		}
	}
}

// TestPicturesEscape: why a stop was, as a file has it, is text in a picture, too.
func TestPicturesEscape(t *testing.T) {
	r := &Report{Suspensions: []recording.Suspension{{Span: stall.Span{Start: 1000, End: 5000}, Reason: "\x1b[31m<hr>"}}}
	r.Source.Span = stall.Span{Start: 0, End: 10_000}
	var page bytes.Buffer
	w := textfmt.NewHTML(&page, "")
	r.draw(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); strings.Contains(text, "\x1b") || strings.Contains(text, "<hr>") || !strings.Contains(text, "&lt;hr&gt;") {
		t.Errorf("a stop's reason is not text in %q", text)
	}
}
