package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"

	"github.com/otelgc/otelgc/collector/stallconnector"
	"github.com/otelgc/otelgc/semconv"
)

const (
	hosts    = 5
	perHost  = 10
	every    = 100 * time.Millisecond // between two batches of a process
	ended    = 50 * time.Millisecond  // after it began, a span has ended
	slowSpan = 15 * time.Millisecond
	// drain is a guard: nothing is held as long after the last span.
	drain = 5 * time.Minute
)

// soaked is what the soak saw.
type soaked struct {
	tally
	took       time.Duration
	sent       int64
	samples    []sample
	before     sample // without a connector
	lost       map[string]int64
	duplicates int64
}

// sample is one reading, once a second.
type sample struct {
	at        time.Duration
	silent    bool // no source speaks
	heldSpans int64
	held      int64 // bytes, by the connector's own account
	live      int64 // bytes on the heap of this program
	resident  int64
}

// soakFor sends spans and events as hosts do, with all that goes wrong, and
// silence of every source for the middle fifth of the time.
func (o *options) soakFor(ctx context.Context, log io.Writer) (*soaked, error) {
	r, own := &soaked{}, newMeter()
	runtime.GC()
	r.before = sample{live: live(), resident: resident()}
	s, err := newStall(ctx, own.provider, func(c *stallconnector.Config) {
		c.MaxBytes, c.MaxSpans, c.SlowSpan = o.limit, 10_000_000, slowSpan
	}, sink{Consumer: consumertest.NewNop(), traces: r.spans, logs: r.slow})
	if err != nil {
		return nil, err
	}
	began := time.Now()
	g := newGenerator(began, o.rate)
	tick, second := time.NewTicker(every), 0
	defer tick.Stop()
	for now := began; now.Sub(began) < o.soak && ctx.Err() == nil; now = <-tick.C {
		at := now.Sub(began)
		silent := at > o.soak*2/5 && at < o.soak*3/5
		g.tellAll(ctx, now, silent, s)
		g.spans(ctx, now, s)
		if at/time.Second > time.Duration(second) {
			second++
			r.sample(own, at, silent)
			if second%10 == 0 {
				last := r.samples[len(r.samples)-1]
				fmt.Fprintf(log, "soak, %v: %d spans sent, %d held in %d MB, resident %d MB\n", at.Round(time.Second), g.sent, last.heldSpans, last.held>>20, last.resident>>20)
			}
		}
	}
	r.took, r.sent = time.Since(began), g.sent
	for until := time.Now().Add(drain); time.Now().Before(until) && r.received.Load() < r.sent; time.Sleep(every) {
		g.tellAll(ctx, time.Now(), false, s)
	}
	own.read()
	r.lost, r.duplicates = own.last[metricUnattributed], own.last[metricDropped]["duplicate"]
	return r, errors.Join(ctx.Err(), s.stop(ctx))
}

func (r *soaked) sample(own *meter, at time.Duration, silent bool) {
	own.read()
	r.samples = append(r.samples, sample{
		at: at, silent: silent, heldSpans: own.sum(metricHeldSpans), held: own.sum(metricHeldBytes), live: live(), resident: resident(),
	})
}

// most returns the greatest of something of the samples.
func (r *soaked) most(of func(sample) int64) (n int64) {
	for _, s := range r.samples {
		n = max(n, of(s))
	}
	return n
}

// beside is what this program itself may have alive beside the connector: what
// it is about to send, and what was just handed on.
const beside = 64 << 20

// verdict says what is not as it has to be.
func (r *soaked) verdict(o *options) error {
	var errs []error
	if got := r.received.Load(); got != r.sent {
		errs = append(errs, fmt.Errorf("%d spans went in, %d came out", r.sent, got))
	}
	if n := r.wrong.Load(); n > 0 {
		errs = append(errs, fmt.Errorf("%d spans were charged wrongly", n))
	}
	if n := r.most(func(s sample) int64 { return s.held }); n > int64(o.limit) {
		errs = append(errs, fmt.Errorf("%d bytes held, want at most %d", n, o.limit))
	}
	if n := r.most(func(s sample) int64 { return s.live }) - r.before.live; n > int64(o.limit)+beside {
		errs = append(errs, fmt.Errorf("%d bytes alive, want at most %d and %d of this program", n, o.limit, beside))
	}
	if r.whole.Load() == 0 {
		errs = append(errs, errors.New("no span was attributed: nothing was shown"))
	}
	return errors.Join(errs...)
}

// tally counts what comes out, and holds the charges against what was sent.
type tally struct {
	received atomic.Int64
	told     atomic.Int64 // events of slow spans
	whole    atomic.Int64 // watched from start to end
	part     atomic.Int64 // in part, or not at all
	bare     atomic.Int64 // went on as they came
	wrong    atomic.Int64 // watched, and charged otherwise than they were stopped
}

// within is the least that two accounts of a span's pauses may differ, seconds:
// of a float64, and of two clocks that are one.
const within = 1.5e-6

func (r *tally) slow(ld plog.Logs) { r.told.Add(int64(ld.LogRecordCount())) }

func (r *tally) spans(td ptrace.Traces) {
	for _, rs := range td.ResourceSpans().All() {
		for _, ss := range rs.ScopeSpans().All() {
			for _, s := range ss.Spans().All() {
				r.span(s)
			}
		}
	}
}

func (r *tally) span(s ptrace.Span) {
	r.received.Add(1)
	m := s.Attributes()
	coverage, ok := m.Get(semconv.AttrCoverage)
	switch {
	case !ok:
		r.bare.Add(1)
		return
	case coverage.Double() < 1:
		r.part.Add(1)
		return
	}
	r.whole.Add(1)
	figure := func(name string) float64 {
		if v, ok := m.Get(name); ok {
			return v.Double()
		}
		return 0
	}
	if off := math.Abs(figure(semconv.AttrStallPrefix+"gc.pause") - figure(attrWant)); off > within+figure(semconv.AttrStallPrefix+"uncertain") {
		r.wrong.Add(1)
	}
}
