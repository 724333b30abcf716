package gotrace_test

import (
	"testing"

	"github.com/otelgc/otelgc/internal/gotrace"
)

func TestWindowMarks(t *testing.T) {
	for _, m := range []gotrace.WindowMark{gotrace.WindowBegin, gotrace.WindowEnd, gotrace.WindowOver, gotrace.WindowJoin, gotrace.WindowLeave} {
		for _, slot := range []int16{0, 1, 42, gotrace.WindowSlots - 1} {
			if got, at, ok := gotrace.ParseWindowMark(m.Key(slot)); got != m || at != slot || !ok {
				t.Errorf("%q: got %q %d %v", m.Key(slot), got, at, ok)
			}
		}
	}
	for _, key := range []string{
		"", "otelgc.", "otelgc.b", "otelgc.b.", "otelgc.b.-1", "otelgc.b.4096", "otelgc.b.99999999999", "otelgc.e.x", "otelgc.own.1", "otelgc.x.1",
		"otelgc.b:1", "b.1", "otelgc calibration",
	} {
		if m, slot, ok := gotrace.ParseWindowMark(key); ok {
			t.Errorf("%q: got %q of slot %d, want none", key, m, slot)
		}
	}
}
