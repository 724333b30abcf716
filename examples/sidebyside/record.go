package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	otelruntime "go.opentelemetry.io/contrib/instrumentation/runtime"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/spans"
)

// recording is what both instrumentations said of one run.
type recording struct {
	duration time.Duration
	requests int
	p50, p99 time.Duration
	maxprocs int

	plain   sdktrace.ReadOnlySpan // of the request, by otelhttp
	runtime []metricdata.Metrics  // by contrib/instrumentation/runtime and otelhttp

	decorated sdktrace.ReadOnlySpan // the same span through otelgc/spans
	slow      sdklog.Record         // otelgc.request.slow
	cycles    []sdklog.Record       // otelgc.gc.collection that the request overlaps
}

// gcPercent is that of a service that has to live with little memory.
const gcPercent = 25

// slowest is from when on a request is explained.
const slowest = 5 * time.Millisecond

// record runs the service under load and picks the request.
func record(ctx context.Context, duration time.Duration, rate int) (r *recording, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	events := new(keptEvents)
	m, err := otelgc.Start(otelgc.WithExactBudget(1), otelgc.WithSlowRequest(slowest, nil),
		otelgc.WithLoggerProvider(sdklog.NewLoggerProvider(sdklog.WithProcessor(events))))
	if err != nil {
		return nil, err
	}
	plain, decorated := new(keptSpans), new(keptSpans)
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(plain),
		sdktrace.WithSpanProcessor(spans.NewProcessor(m, decorated)))
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(otelruntime.NewProducer()))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	if err := otelruntime.Start(otelruntime.WithMeterProvider(meters)); err != nil {
		return nil, errors.Join(err, m.Shutdown(ctx))
	}
	shop := newCatalog()
	handler := otelhttp.NewHandler(m.Middleware(shop.handler()), "shop",
		otelhttp.WithTracerProvider(tracers), otelhttp.WithMeterProvider(meters))
	latencies, err := load(ctx, handler, duration, rate)
	runtime.KeepAlive(shop)

	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var metrics metricdata.ResourceMetrics
	err = errors.Join(err, reader.Collect(end, &metrics), m.Flush(end), tracers.ForceFlush(end), m.Shutdown(end), tracers.Shutdown(end))
	if err != nil {
		return nil, err
	}
	r = &recording{duration: duration, requests: len(latencies), maxprocs: runtime.GOMAXPROCS(0)}
	r.p50, r.p99 = percentiles(latencies)
	for _, scope := range metrics.ScopeMetrics {
		r.runtime = append(r.runtime, scope.Metrics...)
	}
	return r, r.pick(plain, decorated, events)
}

// load serves handler on the loopback interface and sends it rate requests a
// second, each at its time. It returns the latency of each.
func load(ctx context.Context, handler http.Handler, duration time.Duration, rate int) ([]time.Duration, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()

	n := int(duration.Seconds() * float64(rate))
	latencies, errs := make([]time.Duration, n), make([]error, n)
	var all sync.WaitGroup
	start := time.Now()
	for i := range n {
		at := start.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(at))
		if ctx.Err() != nil {
			n = i
			break
		}
		all.Go(func() {
			errs[i] = get(client, fmt.Sprintf("http://%s/order?id=%d", l.Addr(), i))
			latencies[i] = time.Since(at)
		})
	}
	all.Wait()
	err = server.Shutdown(context.WithoutCancel(ctx))
	if s := <-served; !errors.Is(s, http.ErrServerClosed) {
		err = errors.Join(err, s)
	}
	return latencies[:n], errors.Join(err, ctx.Err(), errors.Join(errs...))
}

func get(client *http.Client, url string) error {
	r, err := client.Get(url)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return errors.Join(err, r.Body.Close())
}
