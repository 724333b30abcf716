package otelgc

import (
	"math"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/otelgc/internal/window"
)

// BenchmarkWindowElsewhere measures Begin and End where the cells of the queue were
// read on the other CPU in their life before: always, where [BenchmarkWindow] leaves
// it to the scheduler where its resolver runs.
func BenchmarkWindowElsewhere(b *testing.B) {
	if runtime.NumCPU() < 2 {
		b.Skip("skipped: there is one CPU")
	}
	clock := testClock(b)
	tel, err := telemetry.New(telemetry.Options{Clock: clock})
	if err != nil {
		b.Fatal(err)
	}
	m, span := newMonitor(config{}, clock, tel, newOperator()), local()
	ask, done := make(chan bool), make(chan bool)
	defer close(ask)
	go func() {
		pinTo(b, 1)
		var taken []window.Ended
		for range ask {
			taken = m.windows.Requests.Take(taken[:0], math.MaxInt64, rounds)
			done <- true
		}
	}()
	pinTo(b, 0)
	measure(b, func() {
		w := m.Begin(span)
		w.End()
	}, func() {
		ask <- true
		<-done
	})
}

// pinTo has the calling goroutine run on the n-th of the CPUs that it may use. Its
// thread ends with it.
func pinTo(b *testing.B, n int) {
	runtime.LockOSThread()
	var may, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		b.Error(err)
	}
	for cpu := range 64 * len(may) {
		if !may.IsSet(cpu) {
			continue
		}
		if n--; n < 0 {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		b.Error(err)
	}
}
