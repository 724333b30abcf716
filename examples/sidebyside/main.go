// Command sidebyside shows one slow request twice: as otelhttp and the runtime
// instrumentation of OpenTelemetry show it, and as otelgc does. It runs a small
// service for a minute, picks the request that the garbage collector cost most,
// and writes what both had to say of it as a page:
//
//	go run ./sidebyside -out ../docs/side-by-side.md
package main

import (
	"bytes"
	"context"
	"flag"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	duration := flag.Duration("duration", time.Minute, "how long the service is under load")
	rate := flag.Int("rate", 100, "requests per second")
	out := flag.String("out", "", "file to write the page to; standard output if empty")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *duration, *rate, *out); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, duration time.Duration, rate int, out string) error {
	r, err := record(ctx, duration, rate)
	if err != nil {
		return err
	}
	if out == "" {
		return writePage(os.Stdout, r)
	}
	var page bytes.Buffer // so that the page of before stays if this one fails
	if err := writePage(&page, r); err != nil {
		return err
	}
	return os.WriteFile(out, page.Bytes(), 0o644)
}
