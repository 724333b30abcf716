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

// joined is what the SQL says of all spans.
type joined struct {
	Spans   map[string]*share // by span id
	Answers []int             // how many rows each question of the page has
}

// share is what is said of one span: seconds by owner, and how much of it the
// runtime was watched.
type share struct {
	Owners   map[string]float64
	Duration float64
	Coverage float64
}

// engine is a heading of docs/reference.md, and the module that runs the file of
// that name in collector/deploy/sql.
type engine struct{ heading, module string }

var (
	duckDB     = engine{"DuckDB", "@duckdb/node-api"}
	clickHouse = engine{"ClickHouse", "chdb"}
)

// TestDuckDB: the SQL says of each span, from testdata that a Collector wrote,
// what the Collector's connector wrote on it.
func TestDuckDB(t *testing.T) { asConnected(t, join(t, duckDB, recorded(t))) }

// TestClickHouse: the same for the tables of the ClickHouse exporter.
func TestClickHouse(t *testing.T) {
	got := join(t, clickHouse, recorded(t))
	asConnected(t, got)
	alike(t, got, join(t, duckDB, recorded(t)))
}

// TestLostBatch: of a time of which events were lost less is covered, and what is
// covered is charged as before.
func TestLostBatch(t *testing.T) {
	dir := withoutBatch(t)
	whole, part := join(t, duckDB, recorded(t)), join(t, duckDB, dir)
	less := 0
	for id, p := range part.Spans {
		w := whole.Spans[id]
		switch {
		case p.Coverage < w.Coverage-1e-9:
			less++
		case p.Coverage > w.Coverage+1e-9:
			t.Errorf("span %s: coverage %v, %v with all events", id, p.Coverage, w.Coverage)
		case p.Coverage == 1 && math.Abs(p.Owners["gc.pause"]-w.Owners["gc.pause"]) > within: // by another status of the clock
			t.Errorf("span %s: paused %v, %v with all events, and covered both times", id, p.Owners["gc.pause"], w.Owners["gc.pause"])
		}
	}
	if less == 0 || less == len(part.Spans) {
		t.Errorf("%d of %d spans are covered less than with all events, want some", less, len(part.Spans))
	}
	alike(t, join(t, clickHouse, dir), part)
}

// TestByContainer: a process that is found by its pod is found by its container.
func TestByContainer(t *testing.T) {
	dir := recorded(t)
	for _, name := range recordedFiles {
		file := filepath.Join(dir, name)
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(file, bytes.ReplaceAll(text, []byte(`"k8s.pod.uid"`), []byte(`"container.id"`)), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	duck := join(t, duckDB, dir)
	asConnected(t, duck)
	alike(t, join(t, clickHouse, dir), duck)
}

// alike holds what ClickHouse says to what DuckDB says, to a nanosecond.
func alike(t *testing.T, click, duck joined) {
	t.Helper()
	if len(click.Spans) != len(duck.Spans) {
		t.Errorf("ClickHouse has %d spans, DuckDB %d", len(click.Spans), len(duck.Spans))
	}
	for id, c := range click.Spans {
		if d := duck.Spans[id]; d == nil || apart(c, d) > 1e-9 {
			t.Errorf("span %s: ClickHouse says %+v, DuckDB %+v", id, c, d)
		}
	}
}

// apart returns by how many seconds two accounts of a span differ, at most.
func apart(a, b *share) (most float64) {
	for _, owners := range []map[string]float64{a.Owners, b.Owners} {
		for owner := range owners {
			most = max(most, math.Abs(a.Owners[owner]-b.Owners[owner]))
		}
	}
	return max(most, math.Abs(a.Coverage-b.Coverage)*a.Duration)
}

// join runs the SQL of an engine on the files in dir, and the questions that the
// page has for it.
func join(t *testing.T, e engine, dir string) joined { t.Helper(); return joinBy(t, e, dir, "", "") }

// joinBy is join with one text of the file replaced by another.
func joinBy(t *testing.T, e engine, dir, from, to string) joined {
	t.Helper()
	name := strings.ToLower(e.heading)
	script, err := filepath.Abs(name + ".js")
	if err != nil {
		t.Fatal(err)
	}
	file, err := filepath.Abs("../../deploy/sql/" + name + ".sql")
	if err != nil {
		t.Fatal(err)
	}
	if from != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte(from)); n != 1 {
			t.Fatalf("%s has %q %d times, want once", file, from, n)
		}
		file = filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(file, bytes.Replace(text, []byte(from), []byte(to), 1), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	questions, err := json.Marshal(questions(t, e.heading))
	if err != nil {
		t.Fatal(err)
	}
	cmd := node(t, e.module, script, file)
	var complaints bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, bytes.NewReader(questions), &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", e.heading, err, complaints.Bytes())
	}
	return read(t, out)
}

// read reads what the scripts print.
func read(t *testing.T, out []byte) joined {
	t.Helper()
	var rows struct {
		Spans []struct {
			ID                         string  `json:"span_id"`
			Pause                      float64 `json:"gc_pause"`
			Duration, Coverage, Unseen float64
		}
		Charges []struct {
			ID      string `json:"span_id"`
			Owner   string
			Seconds float64
		}
		Answers []int
	}
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatalf("%v\n%.2000s", err, out)
	}
	all := joined{map[string]*share{}, rows.Answers}
	for _, r := range rows.Spans {
		all.Spans[r.ID] = &share{map[string]float64{}, r.Duration, r.Coverage}
	}
	for _, c := range rows.Charges {
		all.Spans[c.ID].Owners[c.Owner] += c.Seconds
	}
	for _, r := range rows.Spans {
		o := all.Spans[r.ID].Owners
		if math.Abs(o["gc.pause"]-r.Pause) > 1e-9 || math.Abs(o["unseen"]-r.Unseen) > 1e-9 {
			t.Errorf("span %s: the columns say %+v, its owners are %v", r.ID, r, o)
		}
	}
	return all
}

// questions returns what the page suggests to ask an engine.
func questions(t *testing.T, heading string) (all []string) {
	t.Helper()
	doc, err := os.ReadFile("../../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "### "+heading)
	section, _, _ = strings.Cut(section, "\n### ")
	blocks := strings.Split(section, "```sql\n")
	for _, b := range blocks[1:] {
		sql, _, _ := strings.Cut(b, "```")
		for _, q := range strings.SplitAfter(strings.TrimSpace(sql), ";\n") {
			all = append(all, strings.TrimSuffix(strings.TrimSpace(q), ";"))
		}
	}
	if len(all) == 0 {
		t.Fatalf("docs/reference.md asks %s nothing", heading)
	}
	return all
}
