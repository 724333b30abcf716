// Command datadog is the order service of package cost under the profiler of dd-trace-go,
// which sends to the agent at $DD_TRACE_AGENT_URL. It is a module of its own, so that the
// other measurements do not need what that one does.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"

	"github.com/DataDog/dd-trace-go/v2/profiler"

	"github.com/otelgc/otelgc/bench/service/shop"
)

func main() {
	live := flag.Int("live", 16, "long-lived heap in `MB`")
	flag.Parse()
	if err := run(*live); err != nil {
		fmt.Fprintln(os.Stderr, "datadog:", err)
		os.Exit(1)
	}
}

func run(mb int) error {
	live := shop.Grow(mb)
	defer runtime.KeepAlive(live)
	if err := profiler.Start(profiler.WithService("shop")); err != nil {
		return fmt.Errorf("start profiler: %w", err)
	}
	defer profiler.Stop()
	orders := &shop.Orders{}
	return shop.Serve(orders, orders, nil)
}
