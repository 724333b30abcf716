// Command worker takes jobs from a queue: each is a window, and the goroutines
// that share its work join it. A job that took long is explained in one sentence
// on standard error.
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 go run ./worker
package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/otelgc/otelgc/examples/internal/sample"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/otlp"
)

func main() {
	sample.Run(func(ctx context.Context) error {
		queue := make(chan int)
		go func() {
			defer close(queue)
			for size := 1; ctx.Err() == nil; size++ {
				queue <- size % 512
			}
		}()
		return run(ctx, queue, 5*time.Millisecond)
	})
}

// run does the jobs of a queue, and explains those that take as long as slow.
func run(ctx context.Context, queue <-chan int, slow time.Duration) error {
	m, shutdown, err := otlp.Start(ctx, otelgc.WithSlowRequest(slow, slog.Default()))
	if err != nil {
		return err
	}
	for size := range queue {
		work(ctx, m, size)
	}
	return sample.Flush(nil, shutdown)
}

// work does one job: a window from here to its return.
func work(ctx context.Context, m *otelgc.Monitor, size int) {
	w := m.Begin(ctx)
	defer w.End()
	w.SetRoute("job")

	ctx = w.Context(ctx)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			// While work waits for it, what stalls this goroutine stalls the job.
			defer otelgc.Join(ctx)()
			sample.Allocate(size)
		})
	}
	wg.Wait()
}
