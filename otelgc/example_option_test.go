package otelgc_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/trace"
	"strings"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/otelgc/otelgc/jitterprobe"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
)

// Another instrumentation emits the go.* metrics of the OpenTelemetry registry: a View
// drops those of otelgc.
func ExampleWithMeterProvider() {
	reader := sdkmetric.NewManualReader()
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithView(sdkmetric.NewView(
		sdkmetric.Instrument{Name: "go.*", Scope: instrumentation.Scope{Name: otelgc.ScopeName}},
		sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}},
	)))
	m, err := otelgc.Start(otelgc.WithMeterProvider(meters))
	if err != nil {
		log.Fatal(err)
	}
	runtime.GC()
	_ = m.Flush(context.Background())

	var all metricdata.ResourceMetrics
	_ = reader.Collect(context.Background(), &all)
	for _, metric := range all.ScopeMetrics[0].Metrics {
		if strings.HasPrefix(metric.Name, "go.") || metric.Name == "otelgc.gc.pause.duration" {
			fmt.Println(metric.Name)
		}
	}
	_ = m.Shutdown(context.Background())
	// Output: otelgc.gc.pause.duration
}

// A probe in the process sees what the machine does to it where no sidecar can run.
func ExampleWithSource() {
	probe, err := jitterprobe.Start(jitterprobe.Options{Mode: jitterprobe.Periodic})
	if err != nil {
		log.Fatal(err)
	}
	m, err := otelgc.Start(otelgc.WithSource(probe), otelgc.WithBoard(""))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(m.Shutdown(context.Background()))
	// Output: <nil>
}

// A proxy notes when each request reached it, and clients without one count from when
// their connection was accepted: a stall before the handler begins is seen.
func ExampleWithArrivalHeader() {
	m, err := otelgc.Start(otelgc.WithArrivalHeader("X-Request-Start", otelgc.ArrivalUnixSeconds))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: m.Middleware(http.NotFoundHandler())}
	m.AcceptArrivals(server)
}

// Long pauses, and windows that the collector had more than half of.
func ExampleWithOnWindow() {
	m, err := otelgc.Start(otelgc.WithExactBudget(0.05),
		otelgc.WithOnPause(10*time.Millisecond, func(c gc.Collection) { log.Printf("collection %d paused for %v", c.Index, c.PauseTotal()) }),
		otelgc.WithOnWindow(func(w *stall.Window, s *stall.Share) {
			if s.GC() > s.Total/2 {
				log.Print(s.Explain())
			}
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
}

// The longest stretch of each request of 100 ms and more that was not the program's own.
func ExampleWithOnSlowRequest() {
	m, err := otelgc.Start(otelgc.WithExactBudget(0.05),
		otelgc.WithOnSlowRequest(100*time.Millisecond, func(r *otelgc.SlowRequest) {
			var longest stall.Piece
			for _, p := range r.Pieces {
				if p.Part < stall.App && p.End.Sub(p.Start) > longest.End.Sub(longest.Start) {
					longest = p
				}
			}
			log.Printf("%s: %v from %v on", r.Route, longest.Part, longest.Start.Sub(r.Window.Extent().Start))
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
}

// What the collections of a piece of work cost.
func ExampleMonitor_Session() {
	m, err := otelgc.Start(otelgc.WithExactBudget(0))
	if err != nil {
		log.Fatal(err)
	}
	before := m.Session()
	runtime.GC() // the work
	_ = m.Flush(context.Background())
	cost := m.Session().Sub(before)
	list, dropped := m.Collections(0)
	last, ok := m.Last(list[0].Kind)
	fmt.Println(cost.Collections() > 0, cost.PauseTotal > 0, dropped, ok, last.Index == list[len(list)-1].Index)
	_ = m.Shutdown(context.Background())
	// Output: true true 0 true true
}

// Others who need the runtime's tracer: by HTTP, and in the program.
func ExampleMonitor_TraceHandler() {
	m, err := otelgc.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = m.Shutdown(context.Background()) }()
	mux := http.NewServeMux()
	mux.Handle("GET /debug/pprof/trace", m.TraceHandler())

	resume, err := m.PauseExact(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer resume()
	if err := trace.Start(httptest.NewRecorder()); err != nil {
		log.Fatal(err)
	}
	trace.Stop()
}
