package blame

import (
	"bytes"
	"encoding/xml"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/sidecar/internal/goldentest"
	"github.com/otelgc/otelgc/sidecar/internal/textfmt"
	"github.com/otelgc/otelgc/stall"
)

// drawn are a slow request and a median one.
func drawn() (slow, median *strip.Request) {
	at := func(d time.Duration) stall.Instant { return stall.Instant(d) }
	slow = &strip.Request{
		Name: "request 1 of 12000 by latency, at +1.000 s",
		Pieces: []stall.Piece{
			{Start: at(0), End: at(1 * ms), Part: stall.Part(stall.Queue)}, {Start: at(1 * ms), End: at(4 * ms), Part: stall.AppOrHost},
			{Start: at(4 * ms), End: at(12 * ms), Part: stall.Part(stall.GCAssist)}, {Start: at(12 * ms), End: at(13 * ms), Part: strip.Generator},
		},
		Sentence: "12.0 ms: 8.00 ms marking for the garbage collector (gc.assist), 3.00 ms in the program or the machine under it (app_or_host), 1.00 ms on the way to the handler and back (queue); the load generator had 1.00 ms more.",
	}
	median = &strip.Request{Name: "a median request", Pieces: []stall.Piece{{Start: at(0), End: at(ms / 4), Part: stall.App}}}
	return slow, median
}

// TestStory: whatever happened takes at most 30 lines.
func TestStory(t *testing.T) {
	for name, r := range reports() {
		t.Run(name, func(t *testing.T) {
			if name != "nothing" {
				slow, median := drawn()
				r.Drawn, r.Median = []*strip.Request{slow}, median
			}
			var got bytes.Buffer
			if err := r.Story(&got, "demo.html"); err != nil {
				t.Fatal(err)
			}
			goldentest.Check(t, name+".story.txt", got.Bytes(), *update)
			if n := strings.Count(got.String(), "\n"); n > 30 {
				t.Errorf("%d lines, want at most 30", n)
			}
			for line := range strings.Lines(got.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > textfmt.Width {
					t.Errorf("line of %d columns, at most %d:\n%s", n, textfmt.Width, line)
				}
			}
		})
	}
}

// TestHeadline: what had the most of the time above p99 is named, with all that the
// collector did as one; in doubt it is said, and what was not seen has no name.
func TestHeadline(t *testing.T) {
	charged := func(f stall.Fidelity, rest func(*stall.Share) *time.Duration, charges map[stall.Cause]time.Duration) Case {
		return Case{Share: share(10*ms, f, rest, charges)}
	}
	type charges = map[stall.Cause]time.Duration
	for want, c := range map[string]Case{
		"GARBAGE COLLECTION":                                   charged(stall.Exact, appOrHost, charges{stall.GCAssist: 2 * ms, stall.GCPause: 1 * ms, stall.GCWait: 2 * ms, stall.Sched: 3 * ms}),
		"PERHAPS GARBAGE COLLECTION":                           charged(stall.Cycle, unseen, charges{stall.GCPause: 6 * ms}),
		"THE MACHINE":                                          charged(stall.Exact, app, charges{stall.HostThrottled: 6 * ms}),
		"THE PROGRAM ITSELF":                                   charged(stall.Exact, app, nil),
		"THE PROGRAM OR THE MACHINE":                           charged(stall.Exact, appOrHost, nil),
		"THE GO SCHEDULER":                                     charged(stall.Exact, app, charges{stall.Sched: 6 * ms}),
		"THE QUEUE BEFORE THE SERVICE":                         charged(stall.Exact, app, charges{stall.Queue: 6 * ms}),
		"STOPS OF THE RUNTIME THAT ARE NOT GARBAGE COLLECTION": charged(stall.Exact, app, charges{stall.RuntimeSuspension: 6 * ms}),
		"THE SCHEDULER, WHILE THE COLLECTOR HAD THE CPU (AN UPPER BOUND)": charged(stall.Exact, app, charges{stall.SchedGC: 6 * ms}),
		"NOT KNOWN": charged(stall.Cycle, unseen, charges{stall.GCPause: 1 * ms}),
	} {
		r := &Report{Requests: 1, Summary: summarize([]Case{c})}
		if got := r.Headline(); got != "TO BLAME FOR P99: "+want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if len(headlines) != len(named) {
		t.Errorf("%d headlines of %d parties", len(headlines), len(named))
	}
	if got := new(Report).Headline(); !strings.Contains(got, "NOT KNOWN") {
		t.Errorf("headline without a request: %q", got)
	}
}

// TestBins: the bins of a run have all of its requests' time, in order.
func TestBins(t *testing.T) {
	for name, r := range reports() {
		var got, want time.Duration
		for i, b := range r.Summary.Bins {
			for _, d := range b.Time {
				got += d
			}
			if i > 0 && (b.From != r.Summary.Bins[i-1].To || b.Latency < r.Summary.Bins[i-1].Latency) {
				t.Errorf("%s: bin from %v after one to %v", name, b.From, r.Summary.Bins[i-1].To)
			}
		}
		if all := r.Summary.sum(ToP50); all.Requests > 0 {
			want = all.Share.Total
		}
		if got != want {
			t.Errorf("%s: the bins have %v, the requests %v", name, got, want)
		}
	}
}

// TestHTML: the page is one file, well-formed, loads nothing and runs nothing.
func TestHTML(t *testing.T) {
	r := reports()["exact"]
	slow, median := drawn()
	r.Drawn, r.Median = []*strip.Request{slow}, median
	var page bytes.Buffer
	if err := r.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"TO BLAME FOR P99: GARBAGE COLLECTION", "by percentile", slow.Name, "8000000", "WHO HAD THE TIME", "WAITED BEHIND A REQUEST"} {
		if !strings.Contains(page.String(), wanted) {
			t.Errorf("the page does not hold %q", wanted)
		}
	}
	for _, not := range []string{"<script", "http://", "https://", "src=", "@import"} {
		if strings.Contains(page.String(), not) {
			t.Errorf("the page holds %q", not)
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
}
