package semconv

import "fmt"

// Metric is what the registry says of a metric: see semconv/registry.
type Metric struct {
	Name       string
	Instrument string   // counter, updowncounter, gauge or histogram
	Unit       string   // UCUM
	Attributes []string // the only attributes its series may have
	Brief      string   // the description that goes out with it
}

// FindMetric returns the metric of a name.
func FindMetric(name string) (Metric, bool) {
	for i := range metrics {
		if metrics[i].Name == name {
			return metrics[i], true
		}
	}
	return Metric{}, false
}

// MetricOf returns the metric of a name of this package. It panics if there is none.
func MetricOf(name string) Metric {
	m, ok := FindMetric(name)
	if !ok {
		panic(fmt.Sprintf("semconv: no metric %q", name))
	}
	return m
}
