package main

import (
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	"go.opentelemetry.io/otel/trace"
)

// errNone says that no request of the run is one to show.
var errNone = errors.New("garbage collection delayed no request of 5 ms or more that was watched exactly: run it for longer")

// pick chooses the slow request that garbage collection cost most, of those that
// were watched exactly, and what was said of it.
func (r *recording) pick(plain, decorated *keptSpans, events *keptEvents) error {
	var id trace.SpanID
	most := 0.0
	for _, e := range events.named("otelgc.request.slow") {
		a := attributesOf(e)
		span, err := trace.SpanIDFromHex(a["otelgc.span.id"].AsString())
		if cost := costOf(a); err == nil && a["otelgc.fidelity"].AsString() == "exact" && cost > most {
			r.slow, id, most = e, span, cost
		}
	}
	r.plain, r.decorated = plain.of(id), decorated.of(id)
	if r.plain == nil || r.decorated == nil {
		return errNone
	}
	from, to := extent(r.slow)
	for _, c := range events.named("otelgc.gc.collection") {
		if start, end := extent(c); start < to && end > from {
			r.cycles = append(r.cycles, c)
		}
	}
	return nil
}

// costOf returns the seconds that were charged to garbage collection.
func costOf(a map[string]attribute.Value) (sum float64) {
	for _, cause := range []string{"gc.pause", "gc.assist", "gc.sweep", "gc.wait"} {
		if v, ok := a["otelgc.stall."+cause]; ok {
			sum += v.AsFloat64()
		}
	}
	return sum
}

func extent(r sdklog.Record) (start, end int64) {
	a := attributesOf(r)
	return a["otelgc.start"].AsInt64(), a["otelgc.end"].AsInt64()
}

func attributesOf(r sdklog.Record) map[string]attribute.Value {
	all := map[string]attribute.Value{}
	r.WalkAttributes(func(kv attribute.KeyValue) bool {
		all[string(kv.Key)] = kv.Value
		return true
	})
	return all
}

// percentiles returns the median and the 99th percentile.
func percentiles(all []time.Duration) (p50, p99 time.Duration) {
	if len(all) == 0 {
		return 0, 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[len(sorted)/2], sorted[len(sorted)*99/100]
}
