package telemetry

import (
	"log/slog"
	"strings"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall/gc"
)

// isInteger reports whether the values of m are integers: sizes and counts.
func isInteger(m *semconv.Metric) bool { return m.Unit == "By" || strings.HasPrefix(m.Unit, "{") }

// lastMetrics are the gauges of the last collection of each kind, and what they
// say of it: no value if it is not known.
var lastMetrics = []struct {
	name string // after [semconv.MetricLastPrefix]
	of   func(*gc.Collection) slog.Value
}{
	{"index", func(c *gc.Collection) slog.Value {
		if c.Index == 0 {
			return slog.Value{}
		}
		return slog.Int64Value(semconv.Int64(c.Index))
	}},
	{"promoted", func(c *gc.Collection) slog.Value { return semconv.Known(c.Promoted) }},
	{"heap.before", func(c *gc.Collection) slog.Value { return semconv.Known(c.HeapBefore) }},
	{"heap.after", func(c *gc.Collection) slog.Value { return semconv.Known(c.HeapAfter) }},
	{"fragmentation.before", func(c *gc.Collection) slog.Value { return semconv.Known(c.FragmentationBefore) }},
	{"fragmentation.after", func(c *gc.Collection) slog.Value { return semconv.Known(c.FragmentationAfter) }},
	{"pause", func(c *gc.Collection) slog.Value {
		if len(c.Pauses) == 0 {
			return slog.Value{}
		}
		return slog.Float64Value(c.PauseTotal().Seconds())
	}},
}

// bounds are the explicit bucket bounds of every histogram of durations, in
// seconds. A View changes them.
func bounds() []float64 {
	return []float64{
		1e-6, 2.5e-6, 5e-6, 1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4,
		1e-3, 2.5e-3, 5e-3, 1e-2, 2.5e-2, 5e-2, .1, .25, .5, 1, 2.5,
	}
}

// sizeBounds are the explicit bucket bounds of every histogram of sizes: the
// powers of four from 64 KiB to 256 GiB.
func sizeBounds() (b []float64) {
	for size := float64(64 << 10); size <= 256<<30; size *= 4 {
		b = append(b, size)
	}
	return b
}
