// Command worker takes jobs from a queue: each is a window, and the goroutines
// that share its work join it. A job that took long is explained in one sentence
// on standard error.
//
//	OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317 go run ./worker -slow 5ms
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/otelgc/otelgc/examples/internal/sample"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/otlp"
)

func main() {
	jobs := flag.Int("jobs", 0, "jobs to do; 0 goes on until it is told to stop")
	slow := flag.Duration("slow", 20*time.Millisecond, "explain jobs that take this long")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *jobs, *slow); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, jobs int, slow time.Duration) error {
	m, shutdown, err := otlp.Start(ctx, otelgc.WithSlowRequest(slow, slog.Default()))
	if err != nil {
		return err
	}
	queue := make(chan int)
	go produce(ctx, queue, jobs)
	done := 0
	for size := range queue {
		work(ctx, m, size)
		done++
	}
	fmt.Printf("%d jobs done\n", done)
	return sample.Flush(nil, shutdown)
}

func produce(ctx context.Context, queue chan<- int, jobs int) {
	defer close(queue)
	for i := 0; jobs == 0 || i < jobs; i++ {
		select {
		case queue <- 1 + i%512:
		case <-ctx.Done():
			return
		}
	}
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
			allocate(size)
		})
	}
	wg.Wait()
}

// allocate makes size KiB of garbage.
func allocate(size int) {
	parts := make([][]byte, 0, size)
	for range size {
		parts = append(parts, make([]byte, 1<<10))
	}
	for i := range parts {
		parts[i][0] = byte(i)
	}
}
