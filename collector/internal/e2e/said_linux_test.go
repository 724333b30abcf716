package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// said is what a span says of itself: whose its seconds are, the rest of what is
// ours in words, and when it was, Unix ns; of an answer that is not known.
type said struct {
	shares map[string]float64
	words  map[string]string
	wallSpan
}

// sum adds up the owners of a span's time.
func (s *said) sum() (sum float64) {
	for name, v := range s.shares {
		if name != coverage {
			sum += v
		}
	}
	return sum
}

// hosts adds up what the machine has of it.
func (s *said) hosts() (sum float64) {
	for name, v := range s.shares {
		if strings.HasPrefix(name, host) {
			sum += v
		}
	}
	return sum
}

func saidOf(sp ptrace.Span) said {
	s := said{map[string]float64{}, map[string]string{}, wallSpan{int64(sp.StartTimestamp()), int64(sp.EndTimestamp())}}
	for k, v := range sp.Attributes().All() {
		switch {
		case !strings.HasPrefix(k, "otelgc."):
		case v.Type() == pcommon.ValueTypeDouble:
			s.shares[k] = v.Double()
		case v.Type() == pcommon.ValueTypeStr:
			s.words[k] = v.Str()
		}
	}
	return s
}

// answers reads what the process said.
func answers(t *testing.T, file string) map[string]said {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]said{}
	for line := range bytes.Lines(text) {
		var a struct {
			Span   string             `json:"span"`
			Shares map[string]float64 `json:"shares"`
			Words  map[string]string  `json:"words"`
		}
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		all[a.Span] = said{shares: a.Shares, words: a.Words}
	}
	return all
}

// attributed reads the spans of a service that the Collector wrote, by their id.
func (s *site) attributed(service string) map[string]said {
	all := map[string]said{}
	var w written
	w.addFile(filepath.Join(s.out, "traces.jsonl"), func(line []byte) error {
		td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(line)
		if err != nil {
			return err
		}
		for _, rs := range td.ResourceSpans().All() {
			if name(rs.Resource().Attributes().AsRaw()) != service {
				continue
			}
			for _, ss := range rs.ScopeSpans().All() {
				for _, sp := range ss.Spans().All() {
					all[sp.SpanID().String()] = saidOf(sp)
				}
			}
		}
		return nil
	})
	return all
}
