package main

import (
	_ "embed"
	"errors"
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
var pageText string

// page lays out spans, metrics and log records as the Collector's debug exporter does,
// shortened by what is the same in all of them.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"round": func(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) },
	"stamp": func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000000 MST") },
	"list":  attributesOf,
}).Parse(pageText))

// errNone says that no request of the run is one to show.
var errNone = errors.New("garbage collection delayed no request of 5 ms or more that was watched exactly: run it for longer")

// writePage picks the slow request that garbage collection cost most, of those that
// were watched exactly, and writes what both said of it.
func writePage(w io.Writer, duration time.Duration, plain, decorated []sdktrace.ReadOnlySpan, events []*sdklog.Record, scopes []metricdata.ScopeMetrics) error {
	var slow *sdklog.Record
	most := 0.0
	for _, e := range events {
		cost := 0.0
		for _, cause := range []attribute.Key{"pause", "assist", "sweep", "wait"} {
			cost += value(e, "otelgc.stall.gc."+cause).AsFloat64()
		}
		if e.EventName() == "otelgc.request.slow" && value(e, "otelgc.fidelity").AsString() == "exact" && cost > most {
			slow, most = e, cost
		}
	}
	if slow == nil {
		return errNone
	}
	ofSlow := func(s sdktrace.ReadOnlySpan) bool {
		return s.SpanContext().SpanID().String() == value(slow, "otelgc.span.id").AsString()
	}
	span, own := plain[slices.IndexFunc(plain, ofSlow)], decorated[slices.IndexFunc(decorated, ofSlow)]
	cycles := slices.DeleteFunc(slices.Clone(events), func(e *sdklog.Record) bool {
		return e.EventName() != "otelgc.gc.collection" ||
			value(e, "otelgc.start").AsInt64() >= value(slow, "otelgc.end").AsInt64() ||
			value(e, "otelgc.end").AsInt64() <= value(slow, "otelgc.start").AsInt64()
	})
	took := func(s sdktrace.ReadOnlySpan) time.Duration { return s.EndTime().Sub(s.StartTime()) }
	var lengths []time.Duration
	for _, s := range plain {
		lengths = append(lengths, took(s))
	}
	slices.Sort(lengths)
	return page.Execute(w, map[string]any{
		"Duration": duration, "Requests": len(plain), "P50": lengths[len(lengths)/2], "P99": lengths[len(lengths)*99/100],
		"Go": runtime.Version(), "Procs": runtime.GOMAXPROCS(0), "Percent": gcPercent, "Big": bigOrder, "Products": products,
		"Took": took(span), "Plain": span, "Added": own.Attributes()[len(span.Attributes()):], "Metrics": metricLines(scopes),
		"Sentence": value(slow, "otelgc.sentence").AsString(), "Slow": slow, "Cycles": cycles,
	})
}

func attributesOf(r *sdklog.Record) (all []attribute.KeyValue) {
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		all = append(all, kv)
		return true
	})
	return all
}

func value(r *sdklog.Record, key attribute.Key) (v attribute.Value) {
	for _, kv := range attributesOf(r) {
		if kv.Key == key {
			return kv.Value
		}
	}
	return v
}

// metricLines writes metrics one series a line.
func metricLines(scopes []metricdata.ScopeMetrics) (lines []string) {
	for _, scope := range scopes {
		for _, m := range scope.Metrics {
			add := func(set attribute.Set, value any) {
				var words []string
				for _, kv := range set.ToSlice() {
					words = append(words, fmt.Sprintf("%s=%q", kv.Key, kv.Value.String()))
				}
				lines = append(lines, fmt.Sprintf("%s{%s} %v %s", m.Name, strings.Join(words, ","), value, m.Unit))
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					add(p.Attributes, p.Value)
				}
			case metricdata.Histogram[int64]:
				histograms(d.DataPoints, add)
			case metricdata.Histogram[float64]:
				histograms(d.DataPoints, add)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// histograms writes the count, the sum and the bound under which 99 % of the
// samples are.
func histograms[N int64 | float64](all []metricdata.HistogramDataPoint[N], add func(attribute.Set, any)) {
	for _, p := range all {
		text := fmt.Sprintf("count %d, sum %.4g", p.Count, float64(p.Sum))
		var n uint64
		for i, bucket := range p.BucketCounts {
			if n += bucket; 100*n >= 99*p.Count && i < len(p.Bounds) {
				text += fmt.Sprintf(", 99 %% up to %.4g", p.Bounds[i])
				break
			}
		}
		add(p.Attributes, text)
	}
}
