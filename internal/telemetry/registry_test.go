package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/semconv/semconvtest"
)

func sorted(keys map[string]bool) []string { return slices.Sorted(maps.Keys(keys)) }

func set(names ...[]string) map[string]bool {
	keys := make(map[string]bool)
	for _, n := range slices.Concat(names...) {
		keys[n] = true
	}
	return keys
}

// TestRegistryMetrics holds what goes out to the registry: all of it, as it says, and
// nothing else.
func TestRegistryMetrics(t *testing.T) {
	r := play(t)
	r.nextSecond()
	got := make(map[string]metricdata.Metrics)
	for _, m := range append(collect(t, playDotnet(t).reader), collect(t, r.reader)...) {
		got[m.Name] = m
		kind := map[string]string{"sum monotonic=true": "counter", "sum monotonic=false": "updowncounter"}[kindOf(m)]
		report(t, semconvtest.Metric(m.Name, cmp.Or(kind, kindOf(m)), m.Unit))
		for _, set := range setsOf(m) {
			report(t, semconvtest.Point(m.Name, values(set.ToSlice())))
		}
	}
	for _, name := range semconvtest.Metrics() {
		want := semconv.MetricOf(name)
		m, ok := got[want.Name]
		if !ok {
			t.Errorf("%s is in the registry and was not recorded", want.Name)
			continue
		}
		if m.Description != want.Brief {
			t.Errorf("%s: got description %q, want %q", want.Name, m.Description, want.Brief)
		}
		attributes := set(want.Attributes)
		delete(attributes, semconv.AttrTask) // in place of the route, see TestTasks
		if diff := gocmp.Diff(sorted(attributes), sorted(keysOf(m))); diff != "" {
			t.Errorf("%s attributes (-registry +recorded):\n%s", want.Name, diff)
		}
	}
}

// TestRegistryEvents does the same for events.
func TestRegistryEvents(t *testing.T) {
	r := play(t)
	records := append(r.nextSecond(), playDotnet(t).nextSecond()...)
	playStatus(r)
	got := make(map[string]map[string]bool)
	for _, record := range append(records, r.events.taken()...) {
		has := values(eventAttributes(record))
		report(t, semconvtest.Event(record.EventName(), has))
		if got[record.EventName()] == nil {
			got[record.EventName()] = make(map[string]bool)
		}
		for key := range has {
			got[record.EventName()][key] = true
		}
	}
	for name, want := range semconvtest.Events() {
		if diff := gocmp.Diff(sorted(set(want)), sorted(got[name])); diff != "" {
			t.Errorf("%s attributes (-registry +sent):\n%s", name, diff)
		}
	}
}

func report(t *testing.T, wrong []string) {
	t.Helper()
	for _, w := range wrong {
		t.Error(w)
	}
}

func values(all []attribute.KeyValue) map[string]any {
	m := make(map[string]any)
	for _, kv := range all {
		m[string(kv.Key)] = kv.Value.AsInterface()
	}
	return m
}
