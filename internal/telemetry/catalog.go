package telemetry

import (
	"slices"

	"github.com/otelgc/otelgc/semconv"
)

// Instrument is the kind of an instrument, by its name in the OpenTelemetry
// specification.
type Instrument string

// The instruments in use.
const (
	Histogram         Instrument = "histogram"
	Counter           Instrument = "counter"
	Gauge             Instrument = "gauge"
	ObservableCounter Instrument = "observable counter"
	ObservableGauge   Instrument = "observable gauge"
	// ObservableUpDown is a sum that may fall.
	ObservableUpDown Instrument = "observable updowncounter"
)

// Metric is all that is known of one metric before a value is recorded.
type Metric struct {
	Name       string
	Instrument Instrument
	Unit       string   // UCUM
	Attributes []string // the only attributes its series may have
	Meaning    string
}

// Event is all that is known of one event before it happens.
type Event struct {
	Name       string
	Attributes []string // besides those of every event, see EventAttributes
	Meaning    string
}

// Attribute is what one attribute key means.
type Attribute struct {
	Name    string
	Type    string // "int", "float", "string", "bool"; "[]" before it for an array
	Meaning string
}

// Metrics returns the metrics of the package, sorted by name.
func Metrics() []Metric {
	all := slices.Concat(collectionMetrics, lastMetrics, goMetrics, dotnetMetrics, stallMetrics, requestMetrics, monitorMetrics)
	slices.SortFunc(all, func(a, b Metric) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return all
}

// Events returns the events of the package.
func Events() []Event {
	return []Event{collectionEvent, suspensionEvent, gapEvent, slowEvent, statusEvent}
}

// EventAttributes returns the attributes that every event has, where they are
// known.
func EventAttributes() []string {
	return []string{
		semconv.AttrStart, semconv.AttrEnd, semconv.AttrDuration, semconv.AttrSlack, semconv.AttrSource,
		semconv.AttrBootID, semconv.AttrProcessPID,
	}
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
func sizeBounds() []float64 {
	var b []float64
	for size := float64(64 << 10); size <= 256<<30; size *= 4 {
		b = append(b, size)
	}
	return b
}
