package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
)

// within is how far two figures of the same charge may be apart, in seconds,
// beside what either of them calls uncertain: an offset of the wall clock that
// was measured at another moment.
const within = 20e-6

// TestAttribution: what the Collector says of a span, from events and wall time,
// is what the join inside the process said of it.
func TestAttribution(t *testing.T) {
	const spans = 500
	dir := t.TempDir()
	s := newSite(t, filepath.Join(dir, "out"))
	collector := s.collectBy(t, attributed)
	file := filepath.Join(dir, "answers.jsonl")
	env := append(s.senderEnv("e2e-shop", "grpc", "off"), "GOGC=100")
	start(t, env, programs(t).shop, "-answers", file, "-requests", fmt.Sprint(spans))
	var got map[string]map[string]float64
	eventually(t, "all spans, attributed", func() error {
		if got = s.attributed(); len(got) < spans {
			return fmt.Errorf("%d of %d", len(got), spans)
		}
		return nil
	}, collector) // the shop ends by itself
	compare(t, got, answers(t, file))
	eventually(t, "the sums of the spans", func() error { return s.counted("e2e-shop", spans) }, collector)
	collector.stop(t)
	if len(s.attributed()) != spans {
		t.Errorf("%d spans were written, want each once: %d", len(s.attributed()), spans)
	}
}

// notCauses are the shares that say whom no cause is charged to: where a span
// begins and ends by its own clock, and in process, is not the same to 20 us.
var notCauses = map[string]bool{"coverage": true, "uncertain": true, "unseen": true, "app": true, "app_or_host": true}

// apart returns how far apart two figures of a cause are, at most.
func apart(g, w map[string]float64) (most float64) {
	for _, m := range []map[string]float64{g, w} {
		for name := range m {
			if cause, ok := strings.CutPrefix(name, "otelgc.stall."); ok && !notCauses[cause] {
				most = max(most, math.Abs(g[name]-w[name]))
			}
		}
	}
	return most
}

// compare wants 99 % of the spans to have the same charges.
func compare(t *testing.T, got, want map[string]map[string]float64) {
	t.Helper()
	same, paused := 0, 0
	for id, w := range want {
		g := got[id]
		by := apart(g, w)
		if w["otelgc.stall.gc.pause"] > 0 {
			paused++
		}
		if by <= within+g["otelgc.stall.uncertain"]+w["otelgc.stall.uncertain"] {
			same++
		} else if by > 0 {
			t.Logf("span %s: the Collector says %v, the process %v", id, g, w)
		}
	}
	t.Logf("%d of %d spans have the same charges; %d were paused", same, len(want), paused)
	if len(want) == 0 || same*100 < len(want)*99 {
		t.Errorf("%d of %d spans have the same charges, want 99 %%", same, len(want))
	}
	if paused == 0 {
		t.Error("no span was paused: nothing was compared")
	}
}

// answers reads what the process said.
func answers(t *testing.T, file string) map[string]map[string]float64 {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]map[string]float64{}
	for line := range bytes.Lines(text) {
		var a struct {
			Span   string             `json:"span"`
			Shares map[string]float64 `json:"shares"`
		}
		if err := json.Unmarshal(line, &a); err != nil {
			t.Fatal(err)
		}
		all[a.Span] = a.Shares
	}
	return all
}

// attributed reads the spans that the Collector wrote, by their id.
func (s *site) attributed() map[string]map[string]float64 {
	all := map[string]map[string]float64{}
	var w written
	w.addFile(filepath.Join(s.out, "traces.jsonl"), func(line []byte) error {
		td, err := new(ptrace.JSONUnmarshaler).UnmarshalTraces(line)
		if err != nil {
			return err
		}
		for _, rs := range td.ResourceSpans().All() {
			for _, ss := range rs.ScopeSpans().All() {
				for _, sp := range ss.Spans().All() {
					all[sp.SpanID().String()] = shares(sp.Attributes())
				}
			}
		}
		return nil
	})
	return all
}

func shares(m pcommon.Map) map[string]float64 {
	got := map[string]float64{}
	for k, v := range m.All() {
		if v.Type() == pcommon.ValueTypeDouble {
			got[k] = v.Double()
		}
	}
	return got
}

// counted reports whether the connector's own metric has counted that many
// requests of a service.
func (s *site) counted(service string, want int) error {
	var w written
	w.addFile(filepath.Join(s.out, "attributed.jsonl"), w.addMetrics)
	latest := map[string]float64{}
	for _, p := range w.points {
		if p.metric == "otelgc.requests" && p.service == service {
			latest[fmt.Sprint(p.attrs)] = p.value
		}
	}
	var sum float64
	for _, v := range latest {
		sum += v
	}
	if int(sum) != want {
		return fmt.Errorf("%v of %d requests", sum, want)
	}
	return nil
}
