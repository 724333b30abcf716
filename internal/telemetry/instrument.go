package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/semconv"
)

// maker makes the instruments of the registry and keeps the errors, so that the
// caller checks once.
type maker struct {
	meter metric.Meter
	// lost is called when a panic has cost a value. The SDK calls code of the
	// program where a value is recorded: exemplar filters, reservoirs and the
	// attribute filters of views.
	lost func(panicked any)
	errs []error
	// asked are the observable instruments that no callback observes yet.
	asked []metric.Observable
	// observed are the instruments whose callbacks New registers.
	observed []observation
}

type observation struct {
	instruments []metric.Observable
	observe     metric.Callback
}

// check notes why d was not made.
func (m *maker) check(d *semconv.Metric, err error) {
	if err != nil {
		m.errs = append(m.errs, fmt.Errorf("make instrument %s: %w", d.Name, err))
	}
}

// observe has f called when values of the observables are asked for that were made
// since the last call.
func (m *maker) observe(f func(metric.Observer)) {
	m.observed = append(m.observed, observation{m.asked, func(_ context.Context, to metric.Observer) error {
		defer survive(m.lost)
		f(to)
		return nil
	}})
	m.asked = nil
}

// register registers what is observed.
func (m *maker) register() (all []metric.Registration, err error) {
	if err := errors.Join(m.errs...); err != nil {
		return nil, err
	}
	for _, o := range m.observed {
		r, err := m.meter.RegisterCallback(o.observe, o.instruments...)
		if err != nil {
			return all, err
		}
		all = append(all, r)
	}
	return all, nil
}

func survive(lost func(panicked any)) {
	if p := recover(); p != nil {
		lost(p)
	}
}

// instrument records values of one metric, kept apart by K. A nil instrument
// records nothing.
type instrument[K comparable] struct {
	enabled func(context.Context) bool
	add     func(context.Context, float64, *options)
	lost    func(panicked any)
	series  series[K]
}

// newInstrument makes the histogram, counter or gauge of a name. Attributes returns those
// of a series; it may be nil for a metric that has none.
func newInstrument[K comparable](m *maker, name string, attributes func(K) []attribute.KeyValue) *instrument[K] {
	d := semconv.MetricOf(name)
	i := &instrument[K]{lost: m.lost, series: series[K]{attributes: attributes, ready: make(map[K]*options)}}
	unit, meaning := metric.WithUnit(d.Unit), metric.WithDescription(d.Brief)
	switch {
	case d.Instrument == "histogram" && isInteger(&d):
		h, err := m.meter.Int64Histogram(d.Name, unit, meaning, metric.WithExplicitBucketBoundaries(sizeBounds()...))
		m.check(&d, err)
		i.enabled, i.add = h.Enabled, func(ctx context.Context, v float64, o *options) { h.Record(ctx, integer(v), o.record...) }
	case d.Instrument == "histogram":
		h, err := m.meter.Float64Histogram(d.Name, unit, meaning, metric.WithExplicitBucketBoundaries(bounds()...))
		m.check(&d, err)
		i.enabled, i.add = h.Enabled, func(ctx context.Context, v float64, o *options) { h.Record(ctx, v, o.record...) }
	case d.Instrument == "gauge":
		g, err := m.meter.Float64Gauge(d.Name, unit, meaning)
		m.check(&d, err)
		i.enabled, i.add = g.Enabled, func(ctx context.Context, v float64, o *options) { g.Record(ctx, v, o.record...) }
	case isInteger(&d):
		c, err := m.meter.Int64Counter(d.Name, unit, meaning)
		m.check(&d, err)
		i.enabled, i.add = c.Enabled, func(ctx context.Context, v float64, o *options) { c.Add(ctx, integer(v), o.add...) }
	default:
		c, err := m.meter.Float64Counter(d.Name, unit, meaning)
		m.check(&d, err)
		i.enabled, i.add = c.Enabled, func(ctx context.Context, v float64, o *options) { c.Add(ctx, v, o.add...) }
	}
	return i
}

// record records v in the series k. A panic of the program's code costs the value.
func (i *instrument[K]) record(ctx context.Context, v float64, k K) {
	if i != nil && i.enabled(ctx) {
		defer survive(i.lost)
		i.add(ctx, v, i.series.get(k))
	}
}

// integer returns v as an int64, which holds less than a float64.
func integer(v float64) int64 {
	if v >= math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(v)
}

// observable is an instrument whose values are asked for.
type observable func(o metric.Observer, v slog.Value, options []metric.ObserveOption)

func (m *maker) observable(name string) (i observable) {
	d := semconv.MetricOf(name)
	unit, meaning := metric.WithUnit(d.Unit), metric.WithDescription(d.Brief)
	var err error
	if isInteger(&d) {
		var of metric.Int64Observable
		switch d.Instrument {
		case "counter":
			of, err = m.meter.Int64ObservableCounter(d.Name, unit, meaning)
		case "updowncounter":
			of, err = m.meter.Int64ObservableUpDownCounter(d.Name, unit, meaning)
		default:
			of, err = m.meter.Int64ObservableGauge(d.Name, unit, meaning)
		}
		m.asked = append(m.asked, of)
		i = func(o metric.Observer, v slog.Value, options []metric.ObserveOption) {
			o.ObserveInt64(of, v.Int64(), options...)
		}
	} else {
		var of metric.Float64Observable
		if d.Instrument == "counter" {
			of, err = m.meter.Float64ObservableCounter(d.Name, unit, meaning)
		} else {
			of, err = m.meter.Float64ObservableGauge(d.Name, unit, meaning)
		}
		m.asked = append(m.asked, of)
		i = func(o metric.Observer, v slog.Value, options []metric.ObserveOption) {
			o.ObserveFloat64(of, v.Float64(), options...)
		}
	}
	m.check(&d, err)
	return i
}

// observe observes v, an int64 or float64 as the unit has it, if it is known.
func (i observable) observe(o metric.Observer, v slog.Value, options ...metric.ObserveOption) {
	if v.Kind() != slog.KindAny {
		i(o, v, options)
	}
}

// maxSeries bounds the attribute sets that are kept ready for one instrument;
// over it they are made for each value. The longest lists are those of causes by
// fidelity and route, and of gaps by CPU.
const maxSeries = 4096

// series keeps the attribute sets of an instrument ready, so that recording
// allocates nothing.
type series[K comparable] struct {
	attributes func(K) []attribute.KeyValue
	limit      cardinalityLimit
	mu         sync.RWMutex
	ready      map[K]*options
}

// options are one attribute set, as the instruments of the API want it.
type options struct {
	record []metric.RecordOption
	add    []metric.AddOption
}

func (s *series[K]) get(k K) *options {
	s.mu.RLock()
	r := s.ready[k]
	s.mu.RUnlock()
	if r != nil {
		return r
	}
	r = new(options)
	if s.attributes != nil {
		set := metric.WithAttributeSet(attribute.NewSet(s.limit.bound(s.attributes(k))...))
		*r = options{record: []metric.RecordOption{set}, add: []metric.AddOption{set}}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.ready) < maxSeries {
		s.ready[k] = r
	}
	return r
}

const (
	// maxValues bounds the values that one attribute of one instrument has. Most
	// are of closed lists of ours, which are shorter. Others come from outside,
	// such as the reasons of a runtime: its next version may have more of them, and
	// a broken stream any number.
	maxValues = 40
	// maxValueLength bounds each of them, in bytes. The name of a route is the
	// longest.
	maxValueLength = MaxRouteLength
)

// otherError is the error.type of what is over the limit, by the registry.
const otherError = "_OTHER"

// cardinalityLimit bounds the values of each attribute of an instrument. The zero
// value is ready.
type cardinalityLimit struct {
	mu    sync.Mutex
	known map[attribute.Key]map[string]string // as they came, to as they are sent
}

// bound changes all so that each attribute keeps its first maxValues values, and
// returns it.
func (l *cardinalityLimit) bound(all []attribute.KeyValue) []attribute.KeyValue {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range all {
		if a := &all[i]; a.Value.Type() == attribute.STRING {
			a.Value = attribute.StringValue(l.value(a.Key, a.Value.AsString()))
		}
	}
	return all
}

func (l *cardinalityLimit) value(key attribute.Key, s string) string {
	if known, ok := l.known[key][s]; ok {
		return known
	}
	valid := strings.ToValidUTF8(s, "\uFFFD") // or else no exporter sends it
	if len(valid) > maxValueLength || len(l.known[key]) >= maxValues {
		if key == semconv.AttrErrorType {
			return otherError
		}
		return OtherRoute
	}
	if l.known == nil {
		l.known = make(map[attribute.Key]map[string]string)
	}
	if l.known[key] == nil {
		l.known[key] = make(map[string]string)
	}
	l.known[key][strings.Clone(s)] = strings.Clone(valid) // each may be a small part of something large
	return l.known[key][s]
}
