package telemetry

import (
	"fmt"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// renderEvents writes records one attribute a line.
func renderEvents(records []sdklog.Record) string {
	var b strings.Builder
	for _, r := range records {
		fmt.Fprintf(&b, "%s %s at %d\n", r.EventName(), r.Severity(), r.Timestamp().UnixNano())
		for _, kv := range eventAttributes(r) {
			fmt.Fprintf(&b, "  %s %s %s\n", kv.Key, kv.Value.Type(), kv.Value.String())
		}
	}
	return b.String()
}

func eventAttributes(r sdklog.Record) []attribute.KeyValue {
	var all []attribute.KeyValue
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		all = append(all, kv)
		return true
	})
	return all
}

// attr returns the value of key in r, and whether it is there.
func attr(r sdklog.Record, key string) (attribute.Value, bool) {
	for _, kv := range eventAttributes(r) {
		if string(kv.Key) == key {
			return kv.Value, true
		}
	}
	return attribute.Value{}, false
}

// renderMetrics writes metrics one series a line.
func renderMetrics(all []metricdata.Metrics) string {
	slices.SortFunc(all, func(a, b metricdata.Metrics) int { return strings.Compare(a.Name, b.Name) })
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s {%s} %s\n", m.Name, m.Unit, kindOf(m))
		lines := seriesOf(m)
		slices.Sort(lines)
		for _, line := range lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}

func kindOf(m metricdata.Metrics) string {
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		return fmt.Sprintf("sum monotonic=%t", d.IsMonotonic)
	case metricdata.Sum[float64]:
		return fmt.Sprintf("sum monotonic=%t", d.IsMonotonic)
	case metricdata.Gauge[int64], metricdata.Gauge[float64]:
		return "gauge"
	case metricdata.Histogram[int64], metricdata.Histogram[float64]:
		return "histogram"
	}
	return fmt.Sprintf("%T", m.Data)
}

func seriesOf(m metricdata.Metrics) []string {
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		return points(d.DataPoints)
	case metricdata.Sum[float64]:
		return points(d.DataPoints)
	case metricdata.Gauge[int64]:
		return points(d.DataPoints)
	case metricdata.Gauge[float64]:
		return points(d.DataPoints)
	case metricdata.Histogram[int64]:
		return histograms(d.DataPoints)
	case metricdata.Histogram[float64]:
		return histograms(d.DataPoints)
	}
	return nil
}

func points[N int64 | float64](all []metricdata.DataPoint[N]) (lines []string) {
	for _, p := range all {
		lines = append(lines, fmt.Sprintf("%s = %v", renderSet(p.Attributes), p.Value))
	}
	return lines
}

// histograms writes a sample as its bucket's upper bound.
func histograms[N int64 | float64](all []metricdata.HistogramDataPoint[N]) (lines []string) {
	for _, p := range all {
		line := fmt.Sprintf("%s = count %d sum %v", renderSet(p.Attributes), p.Count, p.Sum)
		for i, n := range p.BucketCounts {
			if n == 0 {
				continue
			}
			if i == len(p.Bounds) {
				line += fmt.Sprintf(" inf:%d", n)
			} else {
				line += fmt.Sprintf(" %v:%d", p.Bounds[i], n)
			}
		}
		lines = append(lines, line)
	}
	return lines
}

func renderSet(s attribute.Set) string {
	var words []string
	for _, kv := range s.ToSlice() {
		words = append(words, fmt.Sprintf("%s=%s", kv.Key, kv.Value.String()))
	}
	return "[" + strings.Join(words, " ") + "]"
}

// keysOf returns the attribute keys of the series of m.
func keysOf(m metricdata.Metrics) map[string]bool {
	keys := make(map[string]bool)
	for _, s := range setsOf(m) {
		for _, kv := range s.ToSlice() {
			keys[string(kv.Key)] = true
		}
	}
	return keys
}

// setsOf returns the attributes of each series of m.
func setsOf(m metricdata.Metrics) (sets []attribute.Set) {
	switch d := m.Data.(type) {
	case metricdata.Sum[int64]:
		return setsOfPoints(d.DataPoints)
	case metricdata.Sum[float64]:
		return setsOfPoints(d.DataPoints)
	case metricdata.Gauge[int64]:
		return setsOfPoints(d.DataPoints)
	case metricdata.Gauge[float64]:
		return setsOfPoints(d.DataPoints)
	case metricdata.Histogram[int64]:
		for _, p := range d.DataPoints {
			sets = append(sets, p.Attributes)
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			sets = append(sets, p.Attributes)
		}
	}
	return sets
}

func setsOfPoints[N int64 | float64](all []metricdata.DataPoint[N]) (sets []attribute.Set) {
	for _, p := range all {
		sets = append(sets, p.Attributes)
	}
	return sets
}
