package main

import (
	"embed"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"text/template"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

//go:embed page.md.tmpl
var files embed.FS

// writePage writes what both said of the request. Spans, metrics and log records
// are written as the Collector's debug exporter writes them, shortened by what is
// the same in all of them.
func writePage(w io.Writer, r *recording) error {
	page, err := template.ParseFS(files, "page.md.tmpl")
	if err != nil {
		return err
	}
	return page.Execute(w, map[string]any{
		"Duration": r.duration, "Requests": r.requests, "P50": round(r.p50), "P99": round(r.p99),
		"Go": runtime.Version(), "Procs": r.maxprocs, "Percent": gcPercent, "Big": bigOrder, "Products": products,
		"Took":  round(r.plain.EndTime().Sub(r.plain.StartTime())),
		"Plain": spanText(r.plain, r.plain.Attributes()), "Metrics": metricText(r.runtime),
		"Added":    attributeText(r.decorated.Attributes()[len(r.plain.Attributes()):]),
		"Sentence": attributesOf(r.slow)["otelgc.sentence"].AsString(), "Slow": recordText(r.slow), "Cycles": cyclesText(r.cycles),
	})
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

func spanText(s sdktrace.ReadOnlySpan, attributes []attribute.KeyValue) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Span\n    Trace ID   : %s\n    ID         : %s\n    Name       : %s\n    Kind       : %s\n",
		s.SpanContext().TraceID(), s.SpanContext().SpanID(), s.Name(), s.SpanKind())
	fmt.Fprintf(&b, "    Start time : %s\n    End time   : %s\nAttributes:\n", stamp(s.StartTime()), stamp(s.EndTime()))
	return b.String() + attributeText(attributes)
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000000 MST") }

func attributeText(attributes []attribute.KeyValue) string {
	var b strings.Builder
	for _, kv := range attributes {
		fmt.Fprintf(&b, "     -> %s: %s\n", kv.Key, kv.Value.String())
	}
	return b.String()
}

func recordText(r sdklog.Record) string {
	var attributes []attribute.KeyValue
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		attributes = append(attributes, kv)
		return true
	})
	return fmt.Sprintf("LogRecord\n    Timestamp : %s\n    Severity  : %s\n    EventName : %s\nAttributes:\n%s",
		stamp(r.Timestamp()), r.Severity(), r.EventName(), attributeText(attributes))
}

func cyclesText(records []sdklog.Record) string {
	texts := make([]string, len(records))
	for i, r := range records {
		texts[i] = recordText(r)
	}
	return strings.Join(texts, "\n")
}

// metricText writes metrics one series a line.
func metricText(all []metricdata.Metrics) string {
	var lines []string
	for _, m := range all {
		for _, s := range seriesOf(m) {
			lines = append(lines, fmt.Sprintf("%s{%s} %s %s", m.Name, s.attributes, s.value, m.Unit))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n") + "\n"
}

type seriesText struct{ attributes, value string }

func seriesOf(m metricdata.Metrics) []seriesText {
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
	return []seriesText{{value: fmt.Sprintf("%T", m.Data)}}
}

func points[N int64 | float64](all []metricdata.DataPoint[N]) (s []seriesText) {
	for _, p := range all {
		s = append(s, seriesText{setText(p.Attributes), fmt.Sprint(p.Value)})
	}
	return s
}

// histograms writes the count, the sum and the bound under which 99 % of the
// samples are.
func histograms[N int64 | float64](all []metricdata.HistogramDataPoint[N]) (s []seriesText) {
	for _, p := range all {
		text := fmt.Sprintf("count %d, sum %.4g", p.Count, float64(p.Sum))
		var n uint64
		for i, bucket := range p.BucketCounts {
			if n += bucket; 100*n >= 99*p.Count && i < len(p.Bounds) {
				text += fmt.Sprintf(", 99 %% up to %.4g", p.Bounds[i])
				break
			}
		}
		s = append(s, seriesText{setText(p.Attributes), text})
	}
	return s
}

func setText(s attribute.Set) string {
	var words []string
	for _, kv := range s.ToSlice() {
		words = append(words, fmt.Sprintf("%s=%q", kv.Key, kv.Value.String()))
	}
	return strings.Join(words, ",")
}
