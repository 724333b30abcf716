// Command plain is a service that knows nothing of otelgc: it makes spans with
// the SDK of OpenTelemetry, and writes down which, so that they can be counted.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// patience is how long it tries to hand over what it made.
const patience = 4 * time.Minute

func main() {
	path := flag.String("spans", "", "the `file` for what was made, one JSON document per span")
	workers := flag.Int("workers", 1, "how many make spans, each one after another")
	length := flag.Duration("length", 20*time.Millisecond, "how long a span is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *path, *workers, *length); err != nil {
		fmt.Fprintln(os.Stderr, "plain:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string, workers int, length time.Duration) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	// Again for minutes, each second: what is written down has to come, though who
	// takes it is killed and slow to start.
	again := otlptracegrpc.RetryConfig{Enabled: true, InitialInterval: time.Second, MaxInterval: time.Second, MaxElapsedTime: patience}
	exporter, err := otlptracegrpc.New(context.Background(), otlptracegrpc.WithRetry(again))
	if err != nil {
		return err
	}
	written := &recorder{out: json.NewEncoder(file)}
	tracers := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(written),
		sdktrace.WithBatcher(exporter, sdktrace.WithBlocking())) // what is written down is sent
	var all sync.WaitGroup
	for range workers {
		all.Go(func() { work(ctx, tracers.Tracer("plain"), length) })
	}
	all.Wait()
	limit, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return errors.Join(written.err, tracers.Shutdown(limit))
}

// work makes one span after another until ctx ends.
func work(ctx context.Context, tracer trace.Tracer, length time.Duration) {
	for ctx.Err() == nil {
		_, span := tracer.Start(context.Background(), "invoice", trace.WithSpanKind(trace.SpanKindServer))
		time.Sleep(length)
		span.End()
	}
}

// recorder writes down each span.
type recorder struct {
	mu  sync.Mutex
	out *json.Encoder
	err error
}

func (r *recorder) OnEnd(s sdktrace.ReadOnlySpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, r.out.Encode(map[string]any{
		"span": s.SpanContext().SpanID().String(), "start": s.StartTime().UnixNano(), "end": s.EndTime().UnixNano(),
	}))
}

func (r *recorder) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (r *recorder) Shutdown(context.Context) error                  { return nil }
func (r *recorder) ForceFlush(context.Context) error                { return nil }
