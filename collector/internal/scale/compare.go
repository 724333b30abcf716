package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/collector/consumer/consumertest"
	"go.opentelemetry.io/collector/pdata/plog"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/collector/stallconnector"
)

// The names of what is compared.
const (
	byStall = "stall"
	byOther = "span_metrics"
	byCopy  = "copy alone" // what making the batches costs both
)

// comparison holds the rounds, by cores and by subject.
type comparison map[int]map[string][]round

// round is what one round did.
type round struct {
	spans     int64
	wall      time.Duration
	cpu       time.Duration
	imperfect int64 // spans that were not attributed with all that was to say
}

func (r round) perCPU() float64  { return float64(r.spans) / r.cpu.Seconds() }
func (r round) perWall() float64 { return float64(r.spans) / r.wall.Seconds() }

// compare runs rounds of each subject, there and back, so that all meet the same
// noise, on one core and on all.
func (o *options) compare(ctx context.Context, log io.Writer) (comparison, error) {
	if cpuTime() == 0 {
		return nil, fmt.Errorf("read the CPU time of this process: %w", errors.ErrUnsupported)
	}
	all, before := comparison{}, runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	for _, cores := range slices.Compact([]int{1, before}) {
		runtime.GOMAXPROCS(cores)
		all[cores] = map[string][]round{}
		names := []string{byStall, byOther, byCopy, byCopy, byOther, byStall}
		for i := range o.rounds {
			for _, name := range names[:3] {
				r, err := o.oneRound(ctx, name, cores)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				fmt.Fprintf(log, "%d cores, round %d, %s: %.0f spans a CPU second\n", cores, i+1, name, r.perCPU())
				all[cores][name] = append(all[cores][name], r)
			}
			names = append(names[3:], names[:3]...)
		}
	}
	return all, nil
}

const (
	batchSpans = 512 // as the SDKs send them
	processes  = 8
	window     = 5 * int64(time.Second) // with a pause and a gap each 10 ms: 1,000 intervals
	mostFlying = 100_000
)

// prepare returns batches of spans in the time of 1,000 intervals, and events
// that tell of these.
func prepare() (batches []ptrace.Traces, events plog.Logs) {
	events = plog.NewLogs()
	from := int64(100 * time.Second)
	for i := range int64(processes) {
		p := &process{boot: "boot", service: fmt.Sprintf("service-%d", i), pid: 1000 + i, offset: time.Now().UnixNano() - from, told: from}
		if i == 0 {
			p.gaps(events, from, from+window)
		}
		td := ptrace.NewTraces()
		p.spans(td, batchSpans, from+window/10, from+window-window/10)
		batches = append(batches, td)
		for at := from; at < from+window; at += int64(time.Second) {
			p.events(events, at+int64(time.Second))
		}
	}
	return batches, events
}

// oneRound feeds a subject from as many goroutines as there are cores.
func (o *options) oneRound(ctx context.Context, name string, cores int) (r round, err error) {
	f := feeder{own: newMeter()}
	var events plog.Logs
	f.batches, events = prepare()
	f.subject, err = newSubject(ctx, name, f.own.provider, sink{Consumer: consumertest.NewNop(), traces: func(td ptrace.Traces) { f.received.Add(int64(td.SpanCount())) }})
	if err != nil {
		return r, err
	}
	if f.subject.events != nil {
		if err := f.subject.events.ConsumeLogs(ctx, events); err != nil {
			return r, err
		}
	}
	runtime.GC()
	began, used := time.Now(), cpuTime()
	feeding, quit := context.WithTimeout(ctx, o.round)
	defer quit()
	var wg sync.WaitGroup
	for range cores {
		wg.Go(func() { f.feed(feeding) })
	}
	wg.Wait()
	r.imperfect = f.drain(ctx)
	err = errors.Join(ctx.Err(), f.subject.stop(ctx))
	r.spans, r.wall, r.cpu = f.sent.Load(), time.Since(began), cpuTime()-used
	if err == nil && f.subject.events != nil && f.received.Load() != r.spans {
		err = fmt.Errorf("%d spans went in, %d came out", r.spans, f.received.Load())
	}
	return r, err
}

// feeder sends batches to a subject.
type feeder struct {
	subject        *subject
	batches        []ptrace.Traces
	own            *meter
	sent, received atomic.Int64
}

// feed sends as fast as the subject takes them, and no more than it can hold.
func (f *feeder) feed(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		if f.subject.events != nil && f.sent.Load()-f.received.Load() > mostFlying {
			time.Sleep(time.Millisecond)
			continue
		}
		td := ptrace.NewTraces()
		f.batches[i%len(f.batches)].CopyTo(td) // as a receiver makes it
		f.sent.Add(int64(td.SpanCount()))
		for _, c := range f.subject.traces {
			_ = c.ConsumeTraces(ctx, td) // neither refuses anything
		}
	}
}

// drain waits until everything has come out, and returns how many spans were not
// attributed with all that was to say.
func (f *feeder) drain(ctx context.Context) int64 {
	if f.subject.events == nil {
		return 0
	}
	for f.sent.Load() != f.received.Load() && ctx.Err() == nil {
		time.Sleep(time.Millisecond)
	}
	f.own.read()
	return f.own.sum(metricUnattributed)
}

func newSubject(ctx context.Context, name string, m metric.MeterProvider, out sink) (*subject, error) {
	switch name {
	case byStall:
		return newStall(ctx, m, func(c *stallconnector.Config) { c.MaxSpans, c.MaxBytes = 10*mostFlying, 2<<30 }, out)
	case byOther:
		return newSpanMetrics(ctx, m)
	}
	return &subject{}, nil
}
