// Package sample holds what the examples share and what they are not about: a
// handler that makes garbage, and a server that stops when it is told to.
package sample

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"
)

// MaxKiB bounds what one request can make Handler allocate.
const MaxKiB = 1 << 10

// ShutdownTimeout bounds how long requests in flight, and whoever flushes
// telemetry afterwards, may take.
const ShutdownTimeout = 5 * time.Second

// Handler answers GET /?kb=N with N KiB of fresh memory, 64 where N is absent
// or not from 0 to [MaxKiB].
func Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /", allocate)
	return mux
}

func allocate(w http.ResponseWriter, r *http.Request) {
	kb, err := strconv.Atoi(r.FormValue("kb"))
	if err != nil || kb < 0 || kb > MaxKiB {
		kb = 64
	}
	parts := make([][]byte, kb)
	for i := range parts {
		parts[i] = make([]byte, 1<<10)
	}
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return // the client is gone
		}
	}
}

// Serve listens on addr, prints "listening on HOST:PORT", and serves h until
// ctx is done.
func Serve(ctx context.Context, addr string, h http.Handler) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s\n", l.Addr())
	s := &http.Server{Handler: h, ReadHeaderTimeout: ShutdownTimeout}
	done := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := context.WithTimeout(context.Background(), ShutdownTimeout)
		defer cancel()
		done <- s.Shutdown(ctx)
	})
	if err := s.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		stop()
		return err
	}
	return <-done
}

// Flush calls shutdown with a bounded time of its own, since the context of the
// program is done by then, and joins its error to err.
func Flush(err error, shutdown func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), ShutdownTimeout)
	defer cancel()
	return errors.Join(err, shutdown(ctx))
}
