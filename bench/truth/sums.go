package truth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otelgc/otelgc/bench/harness"
	"github.com/otelgc/otelgc/semconv"
	"github.com/otelgc/otelgc/stall"
)

// sum adds up the shares of a run.
type sum struct {
	requests int
	broken   int           // whose parts do not sum to the whole
	worst    time.Duration // of those
	total    stall.Share
	gc       int // delayed by the collector
	took     time.Duration
	dropped  string        // by the monitor
	held     time.Duration // see sample
}

const (
	// sumRate keeps the requests below what the monitor follows at most: it is
	// shares that are to be looked at, not limits.
	sumRate    = 12_000
	sumWorkers = 16
	// sumLive is the long-lived heap, in MB, and sumPercent GOGC: collections
	// that take a while, and often enough.
	sumLive, sumPercent = 32, 30
)

// addUp does very many requests of many kinds, and adds up each share.
func (e *experiment) addUp(ctx context.Context) (s *sum, err error) {
	s = &sum{}
	b := &bench{class: &class{percent: sumPercent, live: sumLive}}
	s.dropped, err = b.run(ctx, func(_ *stall.Window, h *stall.Share) { s.add(h) }, func() {
		begin, held := time.Now(), b.delays.read()
		b.many(ctx, e.sums)
		s.took, s.held = time.Since(begin), b.delays.read()-held
	})
	e.page.Logf("%s", s)
	return s, errors.Join(err, ctx.Err())
}

// many does n requests, on some goroutines, at no more than the rate.
func (b *bench) many(ctx context.Context, n int) {
	var done atomic.Int64
	begin := time.Now()
	var wg sync.WaitGroup
	for range sumWorkers {
		wg.Go(func() {
			for ctx.Err() == nil {
				k := done.Add(1)
				if k > int64(n) {
					return
				}
				if early := time.Duration(k)*time.Second/sumRate - time.Since(begin); early > 2*time.Millisecond {
					time.Sleep(early)
				}
				w := b.m.Begin(ctx)
				b.some(rand.IntN(100))
				w.End()
			}
		})
	}
	wg.Wait()
}

// some does one request of a kind.
func (b *bench) some(kind int) {
	switch {
	case kind < 60:
		b.compute(10 * time.Microsecond)
	case kind < 90:
		allocate(16 << 10)
	case kind < 96:
		time.Sleep(200 * time.Microsecond)
	case kind < 99:
		b.receive(0)
	default:
		allocate(256 << 10)
	}
}

// add takes one share. The monitor calls it from one goroutine.
func (s *sum) add(h *stall.Share) {
	s.requests++
	if d := leftOver(h); d != 0 {
		s.broken++
		s.worst = max(s.worst, d.Abs())
	}
	if h.GC() > 0 {
		s.gc++
	}
	s.total.Add(h)
}

// lost says what the monitor dropped, if it did.
func (s *sum) lost() string {
	if s.dropped == "" {
		return ""
	}
	return "; the monitor dropped " + s.dropped
}

func (s *sum) unseen() float64 { return float64(s.total.Unseen) / float64(max(1, s.total.Total)) }

func (s *sum) String() string {
	return fmt.Sprintf("sums: %d requests in %v, %d do not sum (by up to %v), %.2f %% unseen, %d delayed by the collector; all: %s%s",
		s.requests, s.took.Round(time.Second), s.broken, s.worst, 100*s.unseen(), s.gc, s.total.Explain(), s.lost())
}

// write puts the sums into the section.
func (s *sum) write(to *harness.Page) {
	rows := harness.NewTable("owner | time, s | of all requests' time")
	for o := range semconv.NumOwners {
		if d := *o.Part(&s.total); d > 0 || o >= semconv.App {
			rows.Row("%v | %.3f | %.3f %%", o, d.Seconds(), 100*float64(d)/float64(max(1, s.total.Total)))
		}
	}
	to.Para("Sums: %d requests in %.0f s at budget 1, with a heap of %d MB and GOGC=%d. The charges and the left-over names sum to the duration, to the nanosecond, of all but %d. "+
		"%.2f %% of the time is unseen; %d requests were delayed by the collector. The kernel kept threads of the process waiting for a CPU for %.1f s in all%s.",
		s.requests, s.took.Seconds(), sumLive, sumPercent, s.broken, 100*s.unseen(), s.gc, s.held.Seconds(), s.lost())
	to.Table(rows)
}
