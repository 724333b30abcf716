// Command plain is the order service as it would be without otelgc: its requests are spans
// of the OpenTelemetry SDK, and it serves net/http/pprof. Its argument is the size of the
// long-lived heap in MB.
package main

import (
	"context"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"strconv"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	otelruntime "go.opentelemetry.io/contrib/instrumentation/runtime"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/otelgc/otelgc/bench/service/drop"
	"github.com/otelgc/otelgc/bench/service/shop"
)

const (
	// readEvery is the interval of the metrics reader, a sixtieth of the SDK's default.
	readEvery = time.Second
	// stopFor is for how long nothing is done but to stop the world.
	stopFor = time.Second
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, the size of the heap in MB")
	}
	mb, err := strconv.Atoi(args[0])
	if err != nil {
		return fmt.Errorf("size of the heap: %w", err)
	}
	live := shop.Grow(mb)
	defer runtime.KeepAlive(live)
	spans := sdktrace.NewTracerProvider(sdktrace.WithBatcher(drop.Spans{}))
	defer func() { _ = spans.Shutdown(context.Background()) }() // nothing is exported
	orders := &shop.Orders{}
	http.Handle("/", otelhttp.NewHandler(orders, "POST /", otelhttp.WithTracerProvider(spans)))
	r := new(readings)
	return shop.Serve(orders, http.DefaultServeMux, map[string]shop.Command{"metrics on": r.on, "metrics off": r.off, "stops": stops})
}

// readings are the runtime's metrics, as the OpenTelemetry project's package has them.
type readings struct{ meters *sdkmetric.MeterProvider }

func (r *readings) on(now func() shop.Usage) (shop.Usage, error) {
	r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(drop.Metrics{}, sdkmetric.WithInterval(readEvery))))
	return now(), otelruntime.Start(otelruntime.WithMeterProvider(r.meters), otelruntime.WithMinimumReadMemStatsInterval(readEvery))
}

func (r *readings) off(now func() shop.Usage) (shop.Usage, error) {
	return now(), r.meters.Shutdown(context.Background())
}

// stops does nothing but stop the world, and returns what that took: its requests are the
// stops.
func stops(now func() shop.Usage) (shop.Usage, error) {
	before := now()
	n := int64(0)
	for begin := time.Now(); time.Since(begin) < stopFor; n++ {
		runtime.ReadMemStats(new(runtime.MemStats))
	}
	u := now().Plus(before, -1)
	u.Served = n
	return u, nil
}
