// Traced is a service that imports nothing of ours: it has spans of the OpenTelemetry SDK and
// serves its pprof. It says where, and after an empty line which spans it had. A line that is
// not empty is the program that it executes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"syscall"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// span is one without a parent. Start and End are Unix ns.
type span struct {
	Name       string
	Start, End int64
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { _ = http.Serve(l, nil) }() // it ends with the process
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	tracer := provider.Tracer("traced")
	go func() {
		for i := 0; ; i++ {
			ctx, root := tracer.Start(context.Background(), fmt.Sprintf("GET /%d", i))
			_, child := tracer.Start(ctx, "query")
			if i%2 == 0 {
				runtime.GC()
			}
			time.Sleep(5 * time.Millisecond)
			child.End()
			root.End()
			time.Sleep(5 * time.Millisecond)
		}
	}()
	fmt.Println(l.Addr())
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if exe := in.Text(); exe != "" {
			log.Fatal(syscall.Exec(exe, []string{exe}, os.Environ()))
		}
		var all []span
		for _, s := range spans.GetSpans() {
			if !s.Parent.IsValid() {
				all = append(all, span{s.Name, s.StartTime.UnixNano(), s.EndTime.UnixNano()})
			}
		}
		_ = json.NewEncoder(os.Stdout).Encode(all)
	}
}
