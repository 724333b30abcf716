package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/metric"
)

// The program's own code is called where a value is recorded, too: exemplar filters
// and reservoirs, and the attribute filters of views. As with [careful], a panic of it
// costs the value, counted.

type carefulSeconds struct {
	metric.Float64Histogram
	lost func(panicked any)
}

func (c carefulSeconds) Record(ctx context.Context, v float64, o ...metric.RecordOption) {
	defer survive(c.lost)
	c.Float64Histogram.Record(ctx, v, o...)
}

type carefulSizes struct {
	metric.Int64Histogram
	lost func(panicked any)
}

func (c carefulSizes) Record(ctx context.Context, v int64, o ...metric.RecordOption) {
	defer survive(c.lost)
	c.Int64Histogram.Record(ctx, v, o...)
}

type carefulSum struct {
	metric.Float64Counter
	lost func(panicked any)
}

func (c carefulSum) Add(ctx context.Context, v float64, o ...metric.AddOption) {
	defer survive(c.lost)
	c.Float64Counter.Add(ctx, v, o...)
}

type carefulCount struct {
	metric.Int64Counter
	lost func(panicked any)
}

func (c carefulCount) Add(ctx context.Context, v int64, o ...metric.AddOption) {
	defer survive(c.lost)
	c.Int64Counter.Add(ctx, v, o...)
}

type carefulGauge struct {
	metric.Float64Gauge
	lost func(panicked any)
}

func (c carefulGauge) Record(ctx context.Context, v float64, o ...metric.RecordOption) {
	defer survive(c.lost)
	c.Float64Gauge.Record(ctx, v, o...)
}

// observing is a callback of ours. It calls the attribute filters of views, on a
// goroutine of the provider's: a panic of one costs what the callback had yet to say.
func observing(lost func(panicked any), observe metric.Callback) metric.Callback {
	return func(ctx context.Context, o metric.Observer) error {
		defer survive(lost)
		return observe(ctx, o)
	}
}

func survive(lost func(panicked any)) {
	if p := recover(); p != nil {
		lost(p)
	}
}
