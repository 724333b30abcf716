package queries

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSQL: the SQL of docs/backends.md says of each span, from testdata that a
// Collector wrote, what the Collector's connector wrote on it.
func TestSQL(t *testing.T) {
	text, err := os.ReadFile("../../../docs/backends.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "### DuckDB")
	_, after, _ = strings.Cut(after, "```sql\n")
	sql, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("docs/backends.md has no SQL for DuckDB")
	}
	script, err := filepath.Abs("join.js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := node(t, script)
	var complaints bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = "testdata", strings.NewReader(sql), &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, complaints.Bytes())
	}
	var rows []struct {
		Span  string   `json:"span_id"`
		Pause *float64 `json:"gc_pause"`
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatal(err)
	}
	want := connected(t)
	same, paused, unwatched := 0, 0, 0
	for _, r := range rows {
		switch {
		case r.Pause == nil:
			unwatched++
			continue
		case math.Abs(*r.Pause-want[r.Span]) <= 20e-6:
			same++
		default:
			t.Logf("span %s: %v, the connector says %v", r.Span, *r.Pause, want[r.Span])
		}
		if *r.Pause > 0 {
			paused++
		}
	}
	t.Logf("%d of %d spans the same, %d paused, %d not watched", same, len(rows), paused, unwatched)
	if len(rows) != len(want) || paused == 0 || same*100 < (len(rows)-unwatched)*99 || unwatched*10 > len(rows) {
		t.Errorf("want %d spans, 99 %% of those watched the same, some paused", len(want))
	}
}

// connected reads otelgc.stall.gc.pause of each span, zero where it is absent.
func connected(t *testing.T) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile("testdata/traces.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	type span struct {
		SpanID     string
		Attributes []struct {
			Key   string
			Value struct{ DoubleValue float64 }
		}
	}
	all := map[string]float64{}
	for line := range bytes.Lines(text) {
		var d struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		if err := json.Unmarshal(line, &d); err != nil {
			t.Fatal(err)
		}
		for _, rs := range d.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					all[s.SpanID] = 0
					for _, a := range s.Attributes {
						if a.Key == "otelgc.stall.gc.pause" {
							all[s.SpanID] = a.Value.DoubleValue
						}
					}
				}
			}
		}
	}
	return all
}
