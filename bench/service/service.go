// Package service measures what otelgc costs a service: that of package shop, which runs
// as a child process and reports what it used.
package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/bench/service/shop"
	"github.com/otelgc/otelgc/otelgc"
)

// Spec describes a service.
type Spec struct {
	Monitor bool    // run otelgc
	Budget  float64 // its exact budget; below zero is the default
	LiveMB  int     // size of the long-lived heap
}

const childName = "service"

// Child runs the service, if this process was started as one.
func Child() { harness.RunChild(childName, serve) }

// Start starts a service on cpus, or anywhere if cpus is nil, and returns its
// address.
func Start(spec Spec, cpus []int) (c *harness.Child, addr string, err error) {
	if c, err = harness.NewChild(childName, spec); err == nil {
		err = c.StartOn(cpus, &addr)
	}
	return c, addr, err
}

// serve runs the service until its input ends.
func serve(spec Spec) (err error) {
	live := shop.Grow(spec.LiveMB)
	defer runtime.KeepAlive(live)
	orders := &shop.Orders{}
	handler, stopMonitor, err := monitored(spec, orders)
	if err != nil {
		return err
	}
	return errors.Join(shop.Serve(orders, handler, nil), stopMonitor())
}

// collectEvery is the interval of the metrics reader.
const collectEvery = 10 * time.Second

// monitored wraps h as a service would, with the SDK's metrics and logs, their
// aggregation and batching. The exporters drop everything: the cost of sending is
// that of the exporter one chooses.
func monitored(spec Spec, h http.Handler) (_ http.Handler, stop func() error, err error) {
	if !spec.Monitor {
		return h, func() error { return nil }, nil
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(shop.DropMetrics{}, sdkmetric.WithInterval(collectEvery))))
	loggers := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(shop.DropLogs{})))
	opts := []otelgc.Option{otelgc.WithMeterProvider(meters), otelgc.WithLoggerProvider(loggers), otelgc.WithBoard("")}
	if spec.Budget >= 0 {
		opts = append(opts, otelgc.WithExactBudget(spec.Budget))
	}
	m, err := otelgc.Start(opts...)
	if err != nil {
		return nil, nil, fmt.Errorf("start monitor: %w", err)
	}
	return m.Middleware(h), func() error {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		return errors.Join(m.Shutdown(ctx), meters.Shutdown(ctx), loggers.Shutdown(ctx))
	}, nil
}
