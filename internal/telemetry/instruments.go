package telemetry

import (
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/metric"
)

// maker makes instruments from the catalog and keeps the errors, so that the
// caller checks once.
type maker struct {
	meter metric.Meter
	lost  func(panicked any) // a value is lost to a panic
	errs  []error
}

func (m *maker) err() error { return errors.Join(m.errs...) }

func (m *maker) check(d Metric, err error) {
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("make instrument %s: %w", d.Name, err))
	}
}

func (m *maker) durations(d Metric) metric.Float64Histogram {
	h, err := m.meter.Float64Histogram(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning),
		metric.WithExplicitBucketBoundaries(bounds()...))
	m.check(d, err)
	return carefulSeconds{h, m.lost}
}

func (m *maker) sizes(d Metric) metric.Int64Histogram {
	h, err := m.meter.Int64Histogram(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning),
		metric.WithExplicitBucketBoundaries(sizeBounds()...))
	m.check(d, err)
	return carefulSizes{h, m.lost}
}

func (m *maker) seconds(d Metric) metric.Float64Counter {
	c, err := m.meter.Float64Counter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning))
	m.check(d, err)
	return carefulSum{c, m.lost}
}

func (m *maker) count(d Metric) metric.Int64Counter {
	c, err := m.meter.Int64Counter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning))
	m.check(d, err)
	return carefulCount{c, m.lost}
}

func (m *maker) gauge(d Metric) metric.Float64Gauge {
	g, err := m.meter.Float64Gauge(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning))
	m.check(d, err)
	return carefulGauge{g, m.lost}
}

// register registers a callback that observes instruments of the maker.
func (m *maker) register(observe metric.Callback, instruments ...metric.Observable) (metric.Registration, error) {
	return m.meter.RegisterCallback(observing(m.lost, observe), instruments...)
}

func (m *maker) observedGauge(d Metric) metric.Int64ObservableGauge {
	g, err := m.meter.Int64ObservableGauge(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning))
	m.check(d, err)
	return g
}

func (m *maker) observedSeconds(d Metric) metric.Float64ObservableGauge {
	g, err := m.meter.Float64ObservableGauge(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning))
	m.check(d, err)
	return g
}

func (m *maker) observedCounter(d Metric) metric.Int64ObservableCounter {
	c, err := m.meter.Int64ObservableCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning))
	m.check(d, err)
	return c
}

func (m *maker) observedTime(d Metric) metric.Float64ObservableCounter {
	c, err := m.meter.Float64ObservableCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning))
	m.check(d, err)
	return c
}

func (m *maker) observedUpDown(d Metric) metric.Int64ObservableUpDownCounter {
	c, err := m.meter.Int64ObservableUpDownCounter(d.Name, metric.WithUnit(d.Unit), metric.WithDescription(d.Meaning))
	m.check(d, err)
	return c
}
