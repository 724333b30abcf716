// Package service measures what otelgc and its probe cost a service: a small order
// service of net/http and encoding/json, which runs as a child process and reports
// what it used.
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
	"sync/atomic"
	"time"

	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/otelgc"
)

// Spec describes a service.
type Spec struct {
	Monitor bool    // run otelgc
	Budget  float64 // its exact budget; below zero is the default
	LiveMB  int     // size of the long-lived heap
	Idle    int     // idle goroutines
	Forced  int     // forced garbage collections per second
	Probe   string  // mode of a probe in the process, or goroutine; empty for none
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
	wg.Go(func() { every(lookEvery, quit, func() { m.now() }) })
	for range spec.Idle {
		wg.Go(func() { <-quit })
	}
	if spec.Forced > 0 {
		wg.Go(func() { every(time.Second/time.Duration(spec.Forced), quit, runtime.GC) })
	}
	note, stopProbe, err := startProbe(spec.Probe)
	if err == nil {
		err = answer(m, note, listener.Addr().String())
		stopProbe()
	}
	close(quit)
	err = errors.Join(err, server.Shutdown(context.Background()), stopMonitor())
	wg.Wait()
	return err
}

// answer obeys the parent's commands.
func answer(m *meter, note, addr string) error {
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
		u.Note = note
		if err := out.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

func every(d time.Duration, quit <-chan struct{}, f func()) {
	tick := time.NewTicker(d)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f()
		case <-quit:
			return
		}
	}
}

// goroutine is the mode of a probe that no service should have: a goroutine that reads
// the clock all the time. A stop of the world must interrupt it first.
const goroutine = "goroutine"

func startProbe(mode string) (note string, stop func(), err error) {
	switch mode {
	case "":
		return "", func() {}, nil
	case goroutine:
		var over atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			for !over.Load() {
				_ = time.Now()
			}
		})
		return "", func() { over.Store(true); wg.Wait() }, nil
	}
	m, err := jitterprobe.ParseMode(mode)
	if err != nil {
		return "", nil, err
	}
	p, err := jitterprobe.Start(jitterprobe.Options{Mode: m})
	if err != nil {
		return "", nil, fmt.Errorf("start probe: %w", err)
	}
	return p.Note(), func() { p.Stop() }, nil
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
