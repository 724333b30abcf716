package queries

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/otelgc/otelgc/collector/internal/attribution"
)

// within is how far the SQL may be from the connector, in seconds: the offset of
// the wall clock is of another status.
const within = 2e-6

// asConnected holds what the SQL says of each span to what the connector wrote on
// it.
func asConnected(t *testing.T, got joined) {
	t.Helper()
	want := connected(t)
	if len(got.Spans) != len(want) {
		t.Errorf("%d spans, want %d", len(got.Spans), len(want))
	}
	charged, covered, farthest := map[string]int{}, 0, 0.
	for id, w := range want {
		g := got.Spans[id]
		if g == nil {
			t.Errorf("there is no span %s", id)
			continue
		}
		far := apart(g, w)
		if farthest = max(farthest, far); far > within {
			t.Errorf("span %s: got %+v, the connector says %+v", id, g, w)
		}
		for owner := range g.Owners {
			charged[owner]++
		}
		if g.Coverage > 0 {
			covered++
		}
	}
	t.Logf("%d spans, %d covered, at most %.3f us apart; with time of %v", len(want), covered, farthest*1e6, charged)
	for _, owner := range []string{"gc.pause", "runtime.suspension", "host.preempted", "host.steal", "host.throttled", "uncertain", "unseen"} {
		if charged[owner] == 0 {
			t.Errorf("no span has time of %s", owner)
		}
	}
	if charged["host.irq"] > 0 {
		t.Error("a gap of one CPU is charged")
	}
	for i, n := range got.Answers {
		if n == 0 {
			t.Errorf("question %d of the page has no answer", i+1)
		}
	}
}

// connected returns what the connector says of each span of testdata. What it wrote
// on them when that was recorded may have been said by another version.
func connected(t *testing.T) map[string]*share {
	t.Helper()
	return attributed(t, recorded(t), attribution.Config{})
}

// charged reads spans with what the connector wrote on them.
func charged(t *testing.T, text []byte) map[string]*share {
	t.Helper()
	type span struct {
		SpanID                             string
		StartTimeUnixNano, EndTimeUnixNano uint64 `json:",string"`
		Attributes                         []struct {
			Key   string
			Value struct{ DoubleValue float64 }
		}
	}
	all := map[string]*share{}
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
					w := &share{map[string]float64{}, float64(int64(s.EndTimeUnixNano-s.StartTimeUnixNano)) / 1e9, 0}
					for _, a := range s.Attributes {
						switch owner, ok := strings.CutPrefix(a.Key, "otelgc.stall."); {
						case owner == "coverage":
							w.Coverage = a.Value.DoubleValue
						case ok && a.Value.DoubleValue > 0:
							w.Owners[owner] = a.Value.DoubleValue
						}
					}
					all[s.SpanID] = w
				}
			}
		}
	}
	return all
}

// withoutBatch returns a directory with testdata from the midst of which a batch
// of a service is missing: a second's stalls, and the statuses that came with them.
func withoutBatch(t *testing.T) string {
	t.Helper()
	dir := recorded(t)
	file := filepath.Join(dir, "logs.jsonl")
	logs, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept [][]byte
	n := 0
	for _, line := range bytes.SplitAfter(logs, []byte("\n")) {
		if bytes.Contains(line, []byte(`"gcwatch"`)) && bytes.Contains(line, []byte("otelgc.gc.collection")) {
			if n++; n == 3 {
				continue
			}
		}
		kept = append(kept, line)
	}
	if err := os.WriteFile(file, bytes.Join(kept, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// recordedFiles are those of testdata, compressed there.
var recordedFiles = []string{"traces.jsonl", "logs.jsonl"}

// recorded returns a directory with testdata as the Collector wrote it.
func recorded(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range recordedFiles {
		file, err := os.Open(filepath.Join("testdata", name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		z, err := gzip.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(z)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
