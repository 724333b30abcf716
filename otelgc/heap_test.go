package otelgc

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// liveHeap returns what a collection leaves.
func liveHeap() float64 {
	runtime.GC()
	runtime.GC() // what finalizers and the first one's floating garbage held
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}

// BenchmarkLiveHeap measures what otelgc holds in a service, in a slice of exact
// tracing and between two: windows that change their state six times each, as
// requests of net/http do, as many a second as asked for or the machine can.
func BenchmarkLiveHeap(b *testing.B) {
	for _, c := range []struct {
		budget float64
		rate   int
	}{{1, 1000}, {1, 13_000}, {defaultBudget, 13_000}} {
		rate := c.rate
		b.Run(fmt.Sprintf("budget=%v/rate=%d", c.budget, rate), func(b *testing.B) {
			empty := liveHeap()
			windows := 0
			m, err := Start(WithBoard(""), WithExactBudget(c.budget), WithOnWindow(func(*stall.Window, *stall.Share) { windows++ }))
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = m.Shutdown(context.Background()) }()
			const workers = 16
			lasting := 8 * time.Second
			if testing.Short() {
				lasting = 2 * time.Second // it runs; what it measures is of no use
			}
			var most float64
			for b.Loop() {
				var wg sync.WaitGroup
				for range workers {
					wg.Go(func() { windowsAt(m, rate/workers, lasting) })
				}
				time.Sleep(lasting - time.Second)
				most = max(most, liveHeap())
				wg.Wait()
			}
			b.ReportMetric((most-empty)/1e6, "live-MB")
			_ = m.Shutdown(context.Background())
			b.ReportMetric(float64(windows)/b.Elapsed().Seconds(), "windows/s")
		})
	}
}

// windowsAt opens and ends windows, and has a partner at work in each.
func windowsAt(m *Monitor, perSecond int, for_ time.Duration) {
	ask, answer := make(chan int), make(chan int)
	defer close(ask)
	go func() {
		for i := range ask {
			answer <- i
		}
	}()
	begin, n := time.Now(), 0
	for time.Since(begin) < for_ {
		for due := int(time.Since(begin).Seconds() * float64(perSecond)); n < due; n++ {
			w := m.Begin(context.Background())
			for i := range 3 {
				ask <- i
				<-answer
			}
			w.End()
		}
		time.Sleep(time.Millisecond)
	}
}
