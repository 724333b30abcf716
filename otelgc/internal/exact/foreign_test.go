package exact

import (
	"errors"
	"math/rand/v2"
	"runtime/trace"
	"sync/atomic"
	"testing"
	"time"
)

// foreign is the writer of somebody else's trace.
type foreign struct{ over atomic.Bool }

// Write notes the end of a generation, which is one byte (Go 1.26). That of a trace
// which has just begun is its end.
func (f *foreign) Write(p []byte) (int, error) {
	f.over.Store(len(p) == 1)
	return len(p), nil
}

// foreigner starts traces time and again, until end is called, which returns how
// often it tried, how many it had, and how many of those were not ended by itself. One that steals stops
// whatever is traced before.
func foreigner(steal bool) (end func() (tried, had, lost int)) {
	quit, done := make(chan bool), make(chan bool)
	tried, had, lost := 0, 0, 0
	go func() {
		defer close(done)
		for {
			select {
			case <-quit:
				return
			default:
			}
			time.Sleep(rand.N(2 * time.Millisecond))
			tried++
			if steal {
				trace.Stop()
			}
			w := new(foreign)
			if trace.Start(w) != nil {
				continue
			}
			had++
			time.Sleep(200 * time.Microsecond)
			if w.over.Load() {
				lost++
			} else {
				trace.Stop()
			}
		}
	}()
	return func() (int, int, int) { close(quit); <-done; return tried, had, lost }
}

// brieflyTrace has the tracer for n slices that end as soon as they can, and returns how
// many it was that ended them.
func brieflyTrace(t testing.TB, n int) (stopped int) {
	t.Helper()
	x := newTracer(t, 0)
	x.Runtime.Silent = 100 * time.Millisecond // until a stolen one is given up
	quit, done := make(chan bool), make(chan bool)
	go func() { // looks at once, not at the next beat
		defer close(done)
		for {
			select {
			case <-quit:
				return
			case <-time.After(200 * time.Microsecond):
				x.nudge()
			}
		}
	}()
	traced := 0
	for traced < n {
		if !x.claim() {
			t.Fatal("the tracer is held")
		}
		switch _, err := x.slice(0); {
		case err == nil:
			traced, stopped = traced+1, stopped+1
		case errors.Is(err, errTracerLost):
			traced++
		default: // somebody else has it
			time.Sleep(10 * time.Microsecond)
		}
	}
	close(quit)
	<-done
	x.reclaim()
	return stopped
}

// TestForeignTracesAreNeverEnded: whoever starts traces and stops his own never has one
// ended by us, however often we stop ours beside him.
func TestForeignTracesAreNeverEnded(t *testing.T) {
	skipIfTraced(t)
	end := foreigner(false)
	stopped := brieflyTrace(t, 100)
	_, had, lost := end()
	t.Logf("%d stops of ours, %d foreign traces", stopped, had)
	if lost > 0 {
		t.Errorf("%d of %d foreign traces were ended", lost, had)
	}
	if had == 0 || stopped == 0 {
		t.Errorf("%d foreign traces, and %d slices of ours: nothing was tried", had, stopped)
	}
}

// BenchmarkForeignStops measures how often a trace is ended of somebody who stops ours
// and starts his own at once, all the time: what remains between our look at the stream
// and our stop, see docs/accuracy/exact.md.
func BenchmarkForeignStops(b *testing.B) {
	end := foreigner(true)
	stopped := brieflyTrace(b, b.N)
	tried, had, lost := end()
	b.ReportMetric(float64(tried), "foreign-stops")
	b.ReportMetric(float64(stopped), "stops")
	b.ReportMetric(float64(had), "foreign")
	b.ReportMetric(float64(lost), "ended")
}
