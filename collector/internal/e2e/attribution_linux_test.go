package e2e

import (
	"fmt"
	"path/filepath"
	"testing"
)

// TestAttribution: what the Collector says of a span, from events and wall time,
// is what the join inside the process said of it.
func TestAttribution(t *testing.T) {
	const spans = 500
	dir := t.TempDir()
	s := newSite(t, filepath.Join(dir, "out"))
	collector := s.attribute(t)
	file := filepath.Join(dir, "answers.jsonl")
	out := s.place(collector)
	env := append(s.senderEnv("e2e-shop", "grpc", "off"), "GOGC=100")
	shop := out.startShop(t, asItIs, nil, "e2e-shop", env, "-answers", file, "-requests", fmt.Sprint(spans))
	shop.begin(t)
	shop.finish(t)
	compare(t, out.come(t, "e2e-shop", spans), answers(t, file), sameJoin(gaps{}), "gc.pause", "unseen")
	eventually(t, "the sums of the spans", func() error { return s.counted("e2e-shop", spans) }, collector)
	collector.stop(t)
	if got := len(s.attributed("e2e-shop")); got != spans {
		t.Errorf("%d spans were written, want each once: %d", got, spans)
	}
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
