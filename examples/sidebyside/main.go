// Command sidebyside shows one slow request twice: as otelhttp and the runtime
// instrumentation of OpenTelemetry show it, and as otelgc does. It runs a small
// service for a minute, picks the request that the garbage collector cost most,
// and writes what both had to say of it as a page:
//
//	go run ./sidebyside >../docs/side-by-side.md
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	otelruntime "go.opentelemetry.io/contrib/instrumentation/runtime"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/otelgc/otelgc/examples/internal/sample"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/spans"
)

func main() {
	duration := flag.Duration("duration", time.Minute, "how long the service is under load")
	flag.Parse()
	sample.Run(func(ctx context.Context) error {
		var page bytes.Buffer
		if err := run(ctx, *duration, &page); err != nil {
			return err
		}
		_, err := page.WriteTo(os.Stdout)
		return err
	})
}

const (
	rate      = 100 // requests per second
	gcPercent = 25  // of a service that has to live with little memory
	// slowest is from when on a request is explained.
	slowest = 5 * time.Millisecond
)

// run runs the service under load and writes the page.
func run(ctx context.Context, duration time.Duration, page io.Writer) error {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	events := new(recorder)
	m, err := otelgc.Start(otelgc.WithExactBudget(1), otelgc.WithSlowRequest(slowest, nil),
		otelgc.WithLoggerProvider(sdklog.NewLoggerProvider(sdklog.WithProcessor(events))))
	if err != nil {
		return err
	}
	plain, decorated := tracetest.NewSpanRecorder(), tracetest.NewSpanRecorder()
	tracers := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(plain),
		sdktrace.WithSpanProcessor(spans.NewProcessor(m, decorated)))
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(otelruntime.NewProducer()))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	if err := otelruntime.Start(otelruntime.WithMeterProvider(meters)); err != nil {
		return errors.Join(err, m.Shutdown(ctx))
	}
	err = load(ctx, otelhttp.NewHandler(m.Middleware(shop()), "shop",
		otelhttp.WithTracerProvider(tracers), otelhttp.WithMeterProvider(meters)), duration)

	var metrics metricdata.ResourceMetrics
	err = sample.Flush(err, func(ctx context.Context) error {
		return errors.Join(reader.Collect(ctx, &metrics), m.Flush(ctx), tracers.ForceFlush(ctx), m.Shutdown(ctx), tracers.Shutdown(ctx))
	})
	if err != nil {
		return err
	}
	return writePage(page, duration, plain.Ended(), decorated.Ended(), events.records, metrics.ScopeMetrics)
}

// recorder is a log processor that keeps every record.
type recorder struct {
	mu      sync.Mutex
	records []*sdklog.Record
}

func (*recorder) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (*recorder) Shutdown(context.Context) error                         { return nil }
func (*recorder) ForceFlush(context.Context) error                       { return nil }

func (r *recorder) OnEmit(_ context.Context, record *sdklog.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := record.Clone()
	r.records = append(r.records, &kept)
	return nil
}

// product is one of many small records that the service keeps alive, and that the
// collector visits in every cycle.
type product struct {
	related [4]*product
	id      int
	name    string
	_       [48]byte // what else there is to say of it
}

// line is one line of an order.
type line struct {
	Product int      `json:"product"`
	Name    string   `json:"name"`
	Price   float64  `json:"price"`
	Tags    []string `json:"tags"`
}

const (
	products = 500_000
	// bigOrder is how many lines one order in bigEvery has; the others have ten.
	bigOrder = 20_000
	bigEvery = 50
)

// shop answers GET /order?id=N with the lines of an order.
func shop() http.Handler {
	catalog := make([]*product, products)
	for i := range catalog {
		catalog[i] = &product{id: i, name: "product"}
	}
	for i, p := range catalog {
		for k := range p.related {
			p.related[k] = catalog[(i*7919+k*104729)%products]
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /order", func(w http.ResponseWriter, r *http.Request) {
		id, err := strconv.Atoi(r.FormValue("id"))
		if err != nil || id < 0 {
			http.Error(w, "id: want a number", http.StatusBadRequest)
			return
		}
		lines := make([]*line, 10)
		if id%bigEvery == 0 {
			lines = make([]*line, bigOrder)
		}
		p := catalog[id%products]
		for i := range lines {
			p = p.related[i%len(p.related)]
			lines[i] = &line{
				Product: p.id, Name: fmt.Sprintf("%s %d", p.name, p.id),
				Price: float64(p.id%1000) / 10, Tags: []string{"order " + strconv.Itoa(id), "line " + strconv.Itoa(i)},
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(lines) // the client is gone if not
		runtime.KeepAlive(catalog)
	})
	return mux
}

// load serves handler on the loopback interface and sends it rate requests a
// second, each at its time.
func load(ctx context.Context, handler http.Handler, duration time.Duration) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- sample.Serve(ctx, l, handler) }()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 30 * time.Second}
	defer client.CloseIdleConnections()

	errs := make([]error, int(duration.Seconds()*rate))
	var all sync.WaitGroup
	start := time.Now()
	for i := range errs {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / rate)))
		if err = ctx.Err(); err != nil {
			break
		}
		all.Go(func() {
			r, err := client.Get(fmt.Sprintf("http://%s/order?id=%d", l.Addr(), i))
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
				_ = r.Body.Close()
			}
			errs[i] = err
		})
	}
	all.Wait()
	stop()
	return errors.Join(err, <-served, errors.Join(errs...))
}
