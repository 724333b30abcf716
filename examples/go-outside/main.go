// Command go-outside is a service like any other: routes, net/http/pprof on a loopback
// port, and the SDK of OpenTelemetry. It imports nothing of otelgc, and knows nothing of
// the sidecar that watches it. README.md says how it does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// timeout bounds the header of a request, and what is left to do when the service ends.
const timeout = 5 * time.Second

func main() {
	addr := flag.String("addr", "127.0.0.1:8080", "address to listen on; port 0 takes a free one")
	debug := flag.String("pprof", "127.0.0.1:6060", "address of net/http/pprof")
	workers := flag.Int("workers", 100, "how many goroutines wait for orders to pack")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, listen("orders", *addr), listen("pprof", *debug), *workers); err != nil {
		log.Fatal(err)
	}
}

// listen says where a server listens.
func listen(server, addr string) net.Listener {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: listening on %s\n", server, l.Addr())
	return l
}

// run serves until ctx is done, and then sends the spans that are left.
func run(ctx context.Context, orders, debug net.Listener, workers int) error {
	exporter, err := otlptracehttp.New(ctx) // as OTEL_EXPORTER_OTLP_* say
	if err != nil {
		return err
	}
	// Which process of which host it is, beside OTEL_RESOURCE_ATTRIBUTES: so a Collector
	// finds whose stops its spans met.
	self, err := resource.New(ctx, resource.WithHost(), resource.WithProcessPID(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return err
	}
	tracers := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(self))
	otel.SetTracerProvider(tracers)
	server := &http.Server{Handler: shop(ctx, workers), ReadHeaderTimeout: timeout}
	profiled := &http.Server{Handler: profiles(), ReadHeaderTimeout: timeout}
	failed := make(chan error, 2)
	go func() { failed <- server.Serve(orders) }()
	go func() { failed <- profiled.Serve(debug) }()
	select {
	case err = <-failed:
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return errors.Join(err, server.Shutdown(end), profiled.Close(), tracers.Shutdown(end))
}

// profiles serves what the sidecar and people ask for, on a port that only this machine
// reaches: profiles say much about a program.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// shop has the routes. The handler of each is instrumented behind the mux, which knows the
// route by then: so it is in the span's name from its begin.
func shop(ctx context.Context, workers int) http.Handler {
	packed := make(chan string)
	for range workers {
		go pack(ctx, packed)
	}
	mux := http.NewServeMux()
	handle := func(pattern string, f http.HandlerFunc) { mux.Handle(pattern, otelhttp.NewHandler(f, pattern)) }
	handle("GET /orders", func(w http.ResponseWriter, _ *http.Request) {
		lines := make([][]byte, 2000)
		for i := range lines {
			lines[i] = fmt.Appendf(make([]byte, 0, 256), "order %d\n", i)
		}
		for _, l := range lines {
			_, _ = w.Write(l) // the client is gone if not
		}
	})
	handle("GET /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(10 * time.Millisecond) // as a database would take
		fmt.Fprintf(w, "order %s\n", r.PathValue("id"))
	})
	handle("POST /orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		select {
		case packed <- r.PathValue("id"):
			w.WriteHeader(http.StatusAccepted)
		case <-r.Context().Done(): // the client is gone
		}
	})
	return mux
}

// pack packs one order after the other until ctx is done.
func pack(ctx context.Context, orders <-chan string) {
	for {
		select {
		case <-orders:
			time.Sleep(100 * time.Millisecond)
		case <-ctx.Done():
			return
		}
	}
}
