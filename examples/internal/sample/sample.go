// Package sample holds what the examples share and what they are not about: a
// program that ends when it is told to, and a handler that makes garbage.
package sample

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"
)

// timeout bounds how long requests in flight, and whoever flushes telemetry
// afterwards, may take.
const timeout = 5 * time.Second

// Run runs a program until it ends, or is interrupted.
func Run(program func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := program(ctx); err != nil {
		log.Fatal(err)
	}
}

// Main runs a server that listens on -addr.
func Main(addr string, server func(context.Context, net.Listener) error) {
	flag.StringVar(&addr, "addr", addr, "address to listen on; port 0 takes a free one")
	flag.Parse()
	Run(func(ctx context.Context) error {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return err
		}
		fmt.Printf("listening on %s\n", l.Addr())
		return server(ctx, l)
	})
}

// Handler answers GET /?kb=N with N KiB of fresh memory, 64 where N is absent
// or not from 0 to 1024.
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		kb, err := strconv.Atoi(r.FormValue("kb"))
		if err != nil || kb < 0 || kb > 1<<10 {
			kb = 64
		}
		for _, part := range Allocate(kb) {
			_, _ = w.Write(part) // the client is gone if not
		}
	})
	return mux
}

// Allocate returns so many KiB, in small pieces.
func Allocate(kb int) [][]byte {
	parts := make([][]byte, kb)
	for i := range parts {
		parts[i] = make([]byte, 1<<10)
	}
	return parts
}

// Serve serves h on l until ctx is done.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: timeout}
	done := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { done <- Flush(nil, s.Shutdown) })
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	return <-done
}

// Flush calls shutdown with a bounded time of its own, since the context of the
// program is done by then, and joins its error to err.
func Flush(err error, shutdown func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return errors.Join(err, shutdown(ctx))
}
