// Package semconvtest holds telemetry to the registry of its names, as weaver's registry
// live-check does.
package semconvtest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/otelgc/otelgc/semconv"
)

// attribute is the type of an attribute and, if only these may be, its values.
type attribute struct {
	typ    string
	values []string
}

// Metric returns what of a metric is not in the registry, nil if all is. The instrument is
// the name of a synchronous one: that of an observable counter is "counter".
func Metric(name, instrument, unit string) []string {
	m, ok := semconv.FindMetric(name)
	if !ok {
		return []string{"metric " + name + " is not in the registry"}
	}
	if got, want := instrument+" "+unit, m.Instrument+" "+m.Unit; got != want {
		return []string{fmt.Sprintf("metric %s: got %s, want %s", name, got, want)}
	}
	return nil
}

// Point returns what of the attributes of a metric is not in the registry.
func Point(metric string, has map[string]any) []string {
	m, _ := semconv.FindMetric(metric)
	return check("metric "+metric, m.Attributes, has)
}

// Event returns what of an event is not in the registry.
func Event(name string, has map[string]any) []string {
	keys, ok := events[name]
	if !ok {
		return []string{"event " + name + " is not in the registry"}
	}
	return check("event "+name, keys, has)
}

// Metrics returns the names of the metrics.
func Metrics() []string { return metrics }

// Events returns the events and their attributes.
func Events() map[string][]string { return events }

// Span returns what of the attributes of a span that start with otelgc. is not in the
// registry.
func Span(has map[string]any) []string {
	own := map[string]any{}
	for key, v := range has {
		if strings.HasPrefix(key, "otelgc.") {
			own[key] = v
		}
	}
	return check("span", spanKeys, own)
}

func check(what string, may []string, has map[string]any) (wrong []string) {
	for key, v := range has {
		if !slices.Contains(may, key) {
			wrong = append(wrong, fmt.Sprintf("%s: attribute %s is not among its own", what, key))
			continue
		}
		a, typ := attributes[key], typeOf(v)
		// The one name with two types: of a metric it is the phase of one pause.
		if key == semconv.AttrPausePhase && strings.HasPrefix(what, "metric") {
			a.typ = "string"
		}
		if typ != a.typ && !(typ == "[]" && strings.HasSuffix(a.typ, "[]")) {
			wrong = append(wrong, fmt.Sprintf("%s: %s is a %s, want %s", what, key, typ, a.typ))
		}
		if s, ok := v.(string); ok && a.values != nil && !slices.Contains(a.values, s) {
			wrong = append(wrong, fmt.Sprintf("%s: %s has the value %q, want one of %q", what, key, s, a.values))
		}
	}
	slices.Sort(wrong)
	return wrong
}

// typeOf returns the type of v as the registry names it, "[]" for an empty array of any.
func typeOf(v any) string {
	switch v := v.(type) {
	case string:
		return "string"
	case int64:
		return "int"
	case float64:
		return "double"
	case bool:
		return "boolean"
	case []string:
		return "string[]"
	case []int64:
		return "int[]"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return typeOf(v[0]) + "[]"
	}
	return fmt.Sprintf("%T", v)
}
