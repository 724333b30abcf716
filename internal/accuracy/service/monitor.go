package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/otelgc"
)

// collectEvery is the interval of the metrics reader.
const collectEvery = 10 * time.Second

// monitored runs otelgc as a service would, with the SDK's metrics and logs and
// all of their aggregation and batching, up to exporters that drop everything:
// the cost of sending is that of the exporter one chooses.
type monitored struct {
	monitor *otelgc.Monitor
	meters  *sdkmetric.MeterProvider
	loggers *sdklog.LoggerProvider
}

func startMonitor(budget float64) (*monitored, error) {
	reader := sdkmetric.NewPeriodicReader(dropMetrics{}, sdkmetric.WithInterval(collectEvery))
	w := &monitored{
		meters:  sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)),
		loggers: sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(dropLogs{}))),
	}
	opts := []otelgc.Option{
		otelgc.WithMeterProvider(w.meters), otelgc.WithLoggerProvider(w.loggers), otelgc.WithBoard(""),
	}
	if budget >= 0 {
		opts = append(opts, otelgc.WithExactBudget(budget))
	}
	m, err := otelgc.Start(opts...)
	if err != nil {
		return nil, fmt.Errorf("start monitor: %w", err)
	}
	w.monitor = m
	return w, nil
}

// wrap returns h with windows around its requests; h itself without a monitor.
func (w *monitored) wrap(h http.Handler) http.Handler {
	if w == nil {
		return h
	}
	return w.monitor.Middleware(h)
}

func (w *monitored) stop() error {
	if w == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return errors.Join(w.monitor.Shutdown(ctx), w.meters.Shutdown(ctx), w.loggers.Shutdown(ctx))
}

type dropMetrics struct{}

func (dropMetrics) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (dropMetrics) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (dropMetrics) Export(context.Context, *metricdata.ResourceMetrics) error { return nil }
func (dropMetrics) ForceFlush(context.Context) error                          { return nil }
func (dropMetrics) Shutdown(context.Context) error                            { return nil }

type dropLogs struct{}

func (dropLogs) Export(context.Context, []sdklog.Record) error { return nil }
func (dropLogs) ForceFlush(context.Context) error              { return nil }
func (dropLogs) Shutdown(context.Context) error                { return nil }
