package semconvtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	for name, c := range map[string]struct{ got, want []string }{
		"metric":         {Metric("otelgc.requests", "counter", "{request}"), nil},
		"unknown metric": {Metric("otelgc.request", "counter", "{request}"), []string{"metric otelgc.request is not in the registry"}},
		"unit":           {Metric("otelgc.requests", "counter", "1"), []string{"metric otelgc.requests: got counter 1, want counter {request}"}},
		"instrument":     {Metric("otelgc.requests", "gauge", "{request}"), []string{"metric otelgc.requests: got gauge {request}, want counter {request}"}},
		"point":          {Point("otelgc.gc.pause.duration", map[string]any{"otelgc.pause.phase": "unknown", "otelgc.fidelity": "exact"}), nil},
		"attribute":      {Point("otelgc.gc.pause.time", map[string]any{"otelgc.source": "gotrace"}), []string{"metric otelgc.gc.pause.time: attribute otelgc.source is not among its own"}},
		"value":          {Point("otelgc.gc.pause.time", map[string]any{"otelgc.gc.kind": "full"}), []string{`metric otelgc.gc.pause.time: otelgc.gc.kind has the value "full", want one of ["ephemeral" "background" "full_blocking"]`}},
		"event":          {Event("otelgc.suspension", map[string]any{"otelgc.start": int64(1), "otelgc.suspension.reason": "stop_trace"}), nil},
		"unknown event":  {Event("otelgc.stop", nil), []string{"event otelgc.stop is not in the registry"}},
		"type":           {Event("otelgc.suspension", map[string]any{"otelgc.start": 1.5}), []string{"event otelgc.suspension: otelgc.start is a double, want int"}},
		"array":          {Event("otelgc.gc.collection", map[string]any{"otelgc.pause.start": []any{int64(1)}, "otelgc.pause.end": []any{}}), nil},
		"array type":     {Event("otelgc.gc.collection", map[string]any{"otelgc.pause.start": []string{"1"}}), []string{"event otelgc.gc.collection: otelgc.pause.start is a string[], want int[]"}},
		"span":           {Span(map[string]any{"otelgc.stall.gc.pause": 0.5, "url.path": int64(1)}), nil},
		"unknown owner":  {Span(map[string]any{"otelgc.stall.gc": 0.5}), []string{"span: attribute otelgc.stall.gc is not among its own"}},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
