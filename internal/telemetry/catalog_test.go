package telemetry

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/semconv"
)

func sorted(keys map[string]bool) []string { return slices.Sorted(maps.Keys(keys)) }

func set(names ...[]string) map[string]bool {
	keys := make(map[string]bool)
	for _, n := range slices.Concat(names...) {
		keys[n] = true
	}
	return keys
}

// TestCatalogMetrics holds the catalog to what goes out: all of it, as it says,
// and nothing else.
func TestCatalogMetrics(t *testing.T) {
	r := play(t)
	r.nextSecond()
	got := make(map[string]metricdata.Metrics)
	for _, m := range append(collect(t, playDotnet(t).reader), collect(t, r.reader)...) {
		got[m.Name] = m
	}
	for _, want := range Metrics() {
		m, ok := got[want.Name]
		if !ok {
			t.Errorf("%s is in the catalog and was not recorded", want.Name)
			continue
		}
		delete(got, want.Name)
		if m.Unit != want.Unit || m.Description != want.Meaning {
			t.Errorf("%s: got unit %q, description %q, want %q, %q", want.Name, m.Unit, m.Description, want.Unit, want.Meaning)
		}
		kind := map[Instrument]string{
			Histogram: "histogram", Gauge: "gauge", ObservableGauge: "gauge",
			Counter: "sum monotonic=true", ObservableCounter: "sum monotonic=true",
			ObservableUpDown: "sum monotonic=false",
		}[want.Instrument]
		if kindOf(m) != kind {
			t.Errorf("%s: got %s, want %s", want.Name, kindOf(m), kind)
		}
		attributes := set(want.Attributes)
		delete(attributes, semconv.AttrTask) // in place of the route, see TestTasks
		if diff := cmp.Diff(sorted(attributes), sorted(keysOf(m))); diff != "" {
			t.Errorf("%s attributes (-catalog +recorded):\n%s", want.Name, diff)
		}
	}
	for name := range got {
		t.Errorf("%s was recorded and is not in the catalog", name)
	}
}

func TestCatalogEvents(t *testing.T) {
	r := play(t)
	records := append(r.nextSecond(), playDotnet(t).nextSecond()...)
	playStatus(r)
	got := make(map[string]map[string]bool)
	for _, record := range append(records, r.events.taken()...) {
		if got[record.EventName()] == nil {
			got[record.EventName()] = make(map[string]bool)
		}
		for _, kv := range eventAttributes(record) {
			got[record.EventName()][string(kv.Key)] = true
		}
	}
	for _, want := range semconv.Events() {
		if diff := cmp.Diff(sorted(set(eventKeys(), want.Attributes)), sorted(got[want.Name])); diff != "" {
			t.Errorf("%s attributes (-catalog +sent):\n%s", want.Name, diff)
		}
		delete(got, want.Name)
	}
	for name := range got {
		t.Errorf("%s was sent and is not in the catalog", name)
	}
}

func TestCatalogAttributes(t *testing.T) {
	used := set(eventKeys(), []string{semconv.AttrStamp, semconv.AttrInstanceSource}) // of resources alone
	for _, m := range Metrics() {
		maps.Copy(used, set(m.Attributes))
	}
	for _, e := range semconv.Events() {
		maps.Copy(used, set(e.Attributes))
	}
	described := make(map[string]bool)
	for _, a := range attributes() {
		if described[a.name] {
			t.Errorf("%s is described twice", a.name)
		}
		described[a.name] = true
	}
	if diff := cmp.Diff(sorted(used), sorted(described)); diff != "" {
		t.Errorf("attributes (-used +described):\n%s", diff)
	}
}

// Metrics returns the metrics that the package makes, by name.
func Metrics() []Metric {
	m := &maker{meter: Options{}.withDefaults().Meter}
	new(collections).make(m, &Options{GoMetrics: true})
	new(collections).make(m, &Options{DotnetMetrics: true})
	new(stalls).make(m)
	new(requests).make(m, false)
	slices.SortFunc(m.made, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(m.made, func(a, b Metric) bool { return a.Name == b.Name })
}
