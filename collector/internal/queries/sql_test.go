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
func TestDuckDB(t *testing.T) { asConnected(t, join(t, duckDB, "testdata")) }

// TestClickHouse: the same for the tables of the ClickHouse exporter.
func TestClickHouse(t *testing.T) {
	rows := join(t, clickHouse, "testdata")
	asConnected(t, rows)
	alike(t, rows, join(t, duckDB, "testdata"))
}

// TestLostBatch: spans of a time of which events were lost have no figure,
// rather than one that is too small.
func TestLostBatch(t *testing.T) {
	dir := withoutBatch(t)
	rows := join(t, duckDB, dir)
	if before, after := unwatched(join(t, duckDB, "testdata")), unwatched(rows); after <= before || after == len(rows) {
		t.Errorf("%d of %d spans not watched, %d with all events; want more, and not all", after, len(rows), before)
	}
	for _, r := range rows {
		if want := connected(t)[r.Span]; r.Pause != nil && math.Abs(*r.Pause-want) > 20e-6 {
			t.Errorf("span %s: %v, the connector says %v", r.Span, *r.Pause, want)
		}
	}
	alike(t, join(t, clickHouse, dir), rows)
}

func unwatched(rows []joined) (n int) {
	for _, r := range rows {
		if r.Pause == nil {
			n++
		}
	}
	return n
}

// alike holds what ClickHouse says to what DuckDB says.
func alike(t *testing.T, click, duck []joined) {
	t.Helper()
	other := map[string]joined{}
	for _, r := range duck {
		other[r.Span] = r
	}
	for _, r := range click {
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

// engine is a heading of docs/backends.md, and the module that runs what is
// under it.
type engine struct{ heading, module string }

var (
	duckDB     = engine{"DuckDB", "@duckdb/node-api"}
	clickHouse = engine{"ClickHouse", "chdb"}
)

// join runs the SQL of an engine on the files in dir.
func join(t *testing.T, e engine, dir string) (rows []joined) {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/backends.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(doc), "### "+e.heading)
	_, after, _ = strings.Cut(after, "```sql\n")
	sql, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatalf("docs/backends.md has no SQL for %s", e.heading)
	}
	script, err := filepath.Abs(strings.ToLower(e.heading) + ".js")
	if err != nil {
		t.Fatal(err)
	}
	cmd := node(t, e.module, script)
	var complaints bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, strings.NewReader(sql), &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", e.heading, err, complaints.Bytes())
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatalf("%s: %v\n%s", e.heading, err, out)
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
