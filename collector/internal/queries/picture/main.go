// Command picture is the service behind the picture of the dashboard: a shop
// with otelgc in it, under a load of its own, that after a while keeps three
// times as much in less room. What it sees goes where the OTEL_* environment
// says.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/otelgc/otelgc/otelgc/otlp"
)

func main() {
	duration := flag.Duration("duration", time.Minute, "how long the shop is open")
	grow := flag.Duration("grow", 20*time.Second, "after which time it keeps more in less room")
	rate := flag.Int("rate", 60, "requests per second")
	flag.Parse()
	if err := run(*duration, *grow, *rate); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

func run(duration, grow time.Duration, rate int) error {
	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()
	m, shutdown, err := otlp.Start(ctx)
	if err != nil {
		return err
	}
	s := newShop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: m.Middleware(s.handler()), ReadHeaderTimeout: time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	grown := time.AfterFunc(grow, func() {
		s.keep(3 * products)
		debug.SetGCPercent(25)
	})
	defer grown.Stop()
	failed := load(ctx, "http://"+listener.Addr().String(), rate)

	end, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = server.Shutdown(end)
	if s := <-served; !errors.Is(s, http.ErrServerClosed) {
		err = errors.Join(err, s)
	}
	return errors.Join(failed, err, shutdown(end))
}

// load sends rate requests a second until ctx ends, each at its time.
func load(ctx context.Context, url string, rate int) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	start := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		time.Sleep(time.Until(start.Add(time.Duration(i) * time.Second / time.Duration(rate))))
		all.Go(func() {
			if err := get(client, fmt.Sprintf("%s/order?id=%d", url, i)); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = err
			}
		})
	}
	all.Wait()
	return failed
}

func get(client *http.Client, url string) error {
	r, err := client.Get(url)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r.Body)
	return errors.Join(err, r.Body.Close())
}
