package queries

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

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

// withoutBatch returns a directory with testdata from the midst of which a batch
// of events is missing: a second's pauses, and the statuses that came with them.
func withoutBatch(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	logs, err := os.ReadFile("testdata/logs.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	batches := bytes.SplitAfter(logs, []byte("\n"))
	logs = bytes.Join(append(batches[:2:2], batches[3:]...), nil)
	traces, err := os.ReadFile("testdata/traces.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"logs.jsonl": logs, "traces.jsonl": traces} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
