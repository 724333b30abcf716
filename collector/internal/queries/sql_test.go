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

// joined is what the SQL says of one span: seconds, nil where nobody watched it.
type joined struct {
	Span      string   `json:"span_id"`
	Pause     *float64 `json:"gc_pause"`
	Uncertain *float64 `json:"uncertain"`
}

// TestDuckDB: the SQL of docs/backends.md says of each span, from testdata that
// a Collector wrote, what the Collector's connector wrote on it.
func TestDuckDB(t *testing.T) { asConnected(t, join(t, "DuckDB", "@duckdb/node-api")) }

// TestClickHouse: the same for the tables of the ClickHouse exporter, and both
// say the same.
func TestClickHouse(t *testing.T) {
	rows := join(t, "ClickHouse", "chdb")
	asConnected(t, rows)
	other := map[string]joined{}
	for _, r := range join(t, "DuckDB", "@duckdb/node-api") {
		other[r.Span] = r
	}
	for _, r := range rows {
		if o := other[r.Span]; !same(r.Pause, o.Pause) || !same(r.Uncertain, o.Uncertain) {
			t.Errorf("span %s: ClickHouse %s, %s, DuckDB %s, %s", r.Span, text(r.Pause), text(r.Uncertain), text(o.Pause), text(o.Uncertain))
		}
	}
}

// same holds two figures together to a nanosecond.
func same(a, b *float64) bool {
	return a == nil && b == nil || a != nil && b != nil && math.Abs(*a-*b) < 1e-9
}

func text(v *float64) string {
	out, _ := json.Marshal(v)
	return string(out)
}

// join runs the SQL that docs/backends.md has under a heading, by the script of
// that name, on testdata.
func join(t *testing.T, heading, module string) (rows []joined) {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/backends.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(doc), "### "+heading)
	_, after, _ = strings.Cut(after, "```sql\n")
	sql, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatalf("docs/backends.md has no SQL for %s", heading)
	}
	script, err := filepath.Abs(strings.ToLower(heading) + ".js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := node(t, module, script)
	var complaints bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = "testdata", strings.NewReader(sql), &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", heading, err, complaints.Bytes())
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatalf("%s: %v\n%s", heading, err, out)
	}
	return rows
}

// asConnected holds the pauses of each span to what the connector wrote on it.
func asConnected(t *testing.T, rows []joined) {
	t.Helper()
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
