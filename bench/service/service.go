// Package service measures what otelgc costs a service: a small order service of net/http
// and encoding/json, which runs as a child process and reports what it used.
package service

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/bench/harness"
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
	live := grow(spec.LiveMB)
	defer runtime.KeepAlive(live)
	shop := &orders{}
	handler, stopMonitor, err := monitored(spec, shop)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	m := &meter{begin: time.Now(), served: shop.served.Load}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(listener) })
	wg.Go(func() { m.look(quit) })
	err = answer(m, listener.Addr().String())
	close(quit)
	err = errors.Join(err, server.Shutdown(context.Background()), stopMonitor())
	wg.Wait()
	return err
}

// answer obeys the parent's commands.
func answer(m *meter, addr string) error {
	out := json.NewEncoder(os.Stdout)
	if err := out.Encode(addr); err != nil {
		return err
	}
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		var u Usage
		if arg, slice := strings.CutPrefix(s.Text(), "slice "); slice {
			limit, err := time.ParseDuration(arg)
			if err != nil {
				return fmt.Errorf("read command: %w", err)
			}
			u = m.atSlice(limit)
		} else {
			u = m.now()
		}
		if err := out.Encode(u); err != nil {
			return err
		}
	}
	return nil
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
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(dropMetrics{}, sdkmetric.WithInterval(collectEvery))))
	loggers := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(dropLogs{})))
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

// drop is what exporters share that drop everything.
type drop struct{}

func (drop) ForceFlush(context.Context) error { return nil }
func (drop) Shutdown(context.Context) error   { return nil }

type dropLogs struct{ drop }

func (dropLogs) Export(context.Context, []sdklog.Record) error { return nil }

type dropMetrics struct{ drop }

func (dropMetrics) Export(context.Context, *metricdata.ResourceMetrics) error { return nil }

func (dropMetrics) Temporality(k sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(k)
}

func (dropMetrics) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}
