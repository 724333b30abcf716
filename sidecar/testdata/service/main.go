// Service is a Go program that knows nothing of otelgc: it serves net/http/pprof, and
// marks each request by a user task, as the OpenTelemetry SDK does its spans. It says where
// it listens, and then each time that its tracer begins or ends.
package main

import (
	"fmt"
	"log"
	"net"
	"net/http"
	_ "net/http/pprof"
	"runtime"
	"runtime/trace"
	"time"
)

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	http.HandleFunc("/orders", func(_ http.ResponseWriter, q *http.Request) {
		_, task := trace.NewTask(q.Context(), "GET /orders")
		defer task.End()
		runtime.GC()
	})
	go func() { log.Fatal(http.Serve(l, nil)) }()
	fmt.Println("http://" + l.Addr().String())
	go func() {
		for was := false; ; time.Sleep(time.Millisecond) {
			if is := trace.IsEnabled(); is != was {
				was = is
				fmt.Println("tracing", is)
			}
		}
	}()
	for ; ; time.Sleep(10 * time.Millisecond) {
		if a, err := http.Get("http://" + l.Addr().String() + "/orders"); err == nil {
			_ = a.Body.Close()
		}
	}
}
