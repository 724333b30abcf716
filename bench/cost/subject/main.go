// Command subject is the order service that package cost measures, as one of two
// shapes, with or without something that watches it. What can watch it is linked by build
// tags, so that a binary holds nothing that its setting does not use: grpc, otel, metrics,
// otelgc, pprof.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/bench/service/shop"
)

// around is what watches a service.
type around struct {
	http func(http.Handler) http.Handler // nil: nothing
	stop func(context.Context) error
}

var (
	// watchers are those that are linked, by name.
	watchers = map[string]func(context.Context) (around, error){
		"":         func(context.Context) (around, error) { return around{stop: nothing}, nil },
		"trace":    traced,
		"recorder": recorded,
	}
	// shapes are those that are linked, by name.
	shapes = map[string]func(*shop.Orders, around) shop.Server{"http": serveHTTP}
)

func nothing(context.Context) error { return nil }

func main() {
	shape := flag.String("shape", "http", "what it is: http or grpc")
	watcher := flag.String("watcher", "", "what watches it")
	live := flag.Int("live", 16, "long-lived heap in `MB`")
	flag.Parse()
	if err := run(*shape, *watcher, *live); err != nil {
		fmt.Fprintln(os.Stderr, "subject:", err)
		os.Exit(1)
	}
}

// stopFor is how long what watches may take to send what it has left.
const stopFor = time.Minute

func run(shape, watcher string, mb int) error {
	start, serve := watchers[watcher], shapes[shape]
	if start == nil || serve == nil {
		return fmt.Errorf("shape %q and watcher %q are not linked", shape, watcher)
	}
	live := shop.Grow(mb)
	defer runtime.KeepAlive(live)
	w, err := start(context.Background())
	if err != nil {
		return fmt.Errorf("start %s: %w", watcher, err)
	}
	orders := &shop.Orders{}
	err = shop.Run(serve(orders, w), orders, map[string]shop.Command{"written": written})
	ctx, cancel := context.WithTimeout(context.Background(), stopFor)
	defer cancel()
	return errors.Join(err, w.stop(ctx))
}

func serveHTTP(o *shop.Orders, w around) shop.Server {
	var orders http.Handler = o
	if w.http != nil {
		orders = w.http(o)
	}
	http.Handle("/", orders) // net/http/pprof serves there, too, if it is linked
	return &http.Server{ReadHeaderTimeout: time.Minute}
}
