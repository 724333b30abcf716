package demo

import (
	"context"
	"io"
	"os"
	"runtime"
	"sync"
)

// hogsPerCPU is how many threads want each of the service's CPUs: its own
// threads get a third of the time.
const hogsPerCPU = 2

// hog keeps the CPUs that it may use busy until standard input ends.
func hog(o childOptions) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.Limit)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	n := hogsPerCPU * runtime.NumCPU()
	// One more, or the goroutine that waits for the end gets no turn.
	runtime.GOMAXPROCS(n + 1)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for ctx.Err() == nil {
				for i := 0; i < 1_000_000; i++ {
				}
			}
		})
	}
	all.Wait()
	return nil
}
