// Package capture keeps slow requests in files:
//
//	err := capture.Start(m, capture.Options{Dir: "/var/lib/shop/slow", AtLeast: 200 * time.Millisecond})
//
// Each has three files. The page, .html, draws where the request's time went. The
// execution trace of the second or two in which it ran, .trace, opens in go tool trace,
// in gotraceui and in otelgc-sidecar report. The numbers, .json, are what
// otelgc-sidecar report reads and makes a trace for Perfetto of.
//
// Only a request that ran while the monitor traced has an execution trace, and only such
// a one is kept: by default a tenth of the time at most, see [otelgc.WithExactBudget].
// Event otelgc.request.slow has the path of the page as otelgc.capture.path, or in
// otelgc.capture.missing why there is none.
//
// While it runs, the monitor keeps the traces of the last seconds, 32 MiB at most, and
// those that wait to be written, 64 MiB at most; a second of a busy service has one or two.
package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otelgc/otelgc/internal/strip"
	"github.com/otelgc/otelgc/otelgc"
	"github.com/otelgc/otelgc/otelgc/internal/entry"
	"github.com/otelgc/otelgc/otelgc/internal/latency"
	"github.com/otelgc/otelgc/stall"
)

// Options say which requests are kept, and how many.
type Options struct {
	// Dir is where the files go. It is made if it is not there, and should be this
	// process's alone: the limits below are of all files of this package in it.
	Dir string
	// AtLeast is how long a request takes, from its arrival where that is known; 100 ms if
	// zero.
	AtLeast time.Duration
	// Every is the least time between two requests that are kept; 10 s if zero.
	Every time.Duration
	// Keep is how many requests are kept, 50 if zero. The oldest go first.
	Keep int
	// Bytes is what all files have at most, 256 MiB if zero. The oldest go first.
	Bytes int64
}

func (o Options) withDefaults() Options {
	o.AtLeast = cmp.Or(o.AtLeast, 100*time.Millisecond)
	o.Every = cmp.Or(o.Every, 10*time.Second)
	o.Keep = cmp.Or(o.Keep, 50)
	o.Bytes = cmp.Or(o.Bytes, 256<<20)
	return o
}

func (o Options) check() error {
	switch {
	case o.Dir == "":
		return errors.New("want Dir, the directory for the files")
	case o.AtLeast < 0 || o.Every < 0 || o.Keep < 0 || o.Bytes < 0:
		return fmt.Errorf("at least %v, every %v, keep %d, bytes %d: want none below zero", o.AtLeast, o.Every, o.Keep, o.Bytes)
	}
	return nil
}

const (
	// maxWaiting bounds the requests that wait to be written, beside the one that is.
	maxWaiting = 64
	// maxWaitingBytes bounds the traces of all that have not been written.
	maxWaitingBytes = 64 << 20
	// roomForPage is what the page and the numbers of a request may take of the limit.
	roomForPage = 1 << 20
)

// Start has the slow requests of m kept, until m is shut down. A monitor without exact
// fidelity keeps none; nor does a nil one. What cannot be written later is counted in
// otelgc.monitor.dropped, with item capture, and its first error reported to
// OpenTelemetry's handler of errors.
func Start(m *otelgc.Monitor, o Options) error {
	if m == nil {
		return nil
	}
	c, err := newCapturer(m, o)
	if err == nil && !c.entry.Capture(c) {
		c.dir.close()
		err = errors.New("the requests of this monitor are captured already")
	}
	if err != nil {
		return fmt.Errorf("otelgc/capture: start: %w", err)
	}
	go c.run()
	return nil
}

// capturer is an [entry.Capturer].
type capturer struct {
	o       Options
	monitor *otelgc.Monitor
	entry   entry.Page
	dir     *dir // of run's goroutine
	queue   chan *job
	ended   chan struct{} // closed when run has returned
	// Of the caller of Admit, Keep and See:
	last  time.Time // when a request was admitted last
	usual latency.Usual

	mu       sync.Mutex
	waiting  map[*job]bool // that are not done
	bytes    int           // of their traces
	closed   bool
	reported bool
}

// job is a request that is to be written.
type job struct {
	*entry.Slow
	bytes  int            // of its trace
	p99    time.Duration  // of all requests, 0 if it is not known
	median *strip.Request // nil if none is known
	done   func(path, why string)
}

func newCapturer(m *otelgc.Monitor, o Options) (*capturer, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	d, err := openDir(o)
	if err != nil {
		return nil, err
	}
	return &capturer{
		o: o, monitor: m, entry: entry.PageOf(m), dir: d, waiting: make(map[*job]bool),
		queue: make(chan *job, maxWaiting), ended: make(chan struct{}),
	}, nil
}

// Why a request is not kept.
const (
	whyRate  = "rate_limit"
	whyQueue = "queue_full"
	whyLarge = "too_large"
	whyWrite = "write"
)

// Least implements [entry.Capturer].
func (c *capturer) Least() time.Duration { return c.o.AtLeast }

// WantsPieces implements [entry.Observer].
func (c *capturer) WantsPieces(took time.Duration, at stall.Instant) bool {
	return took >= c.o.AtLeast || c.usual.Wants(took, at)
}

// See implements [entry.Observer].
func (c *capturer) See(r *entry.Request) { c.usual.See(r) }

// Admit implements [entry.Capturer].
func (c *capturer) Admit(bytes int) (why string) {
	now := time.Now()
	if now.Sub(c.last) < c.o.Every {
		return whyRate
	}
	if int64(bytes)+roomForPage > c.o.Bytes {
		return whyLarge
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.waiting) >= maxWaiting || c.bytes+bytes > maxWaitingBytes {
		return whyQueue
	}
	c.last = now
	return ""
}

// Keep implements [entry.Capturer].
func (c *capturer) Keep(s *entry.Slow, done func(path, why string)) {
	j := &job{Slow: s, p99: c.usual.P99(), median: c.usual.Median(), done: done}
	for _, part := range s.Trace {
		j.bytes += len(part)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[j] = true
	c.bytes += j.bytes
	c.queue <- j // Admit saw that there is room
}

// finish says what became of a request, unless Close has.
func (c *capturer) finish(j *job, path, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting[j] {
		delete(c.waiting, j)
		c.bytes -= j.bytes
		j.done(path, why)
	}
}

// run writes one request after the other.
func (c *capturer) run() {
	defer close(c.ended)
	defer c.dir.close()
	for j := range c.queue {
		path, err := c.write(j)
		if err != nil {
			c.report(err)
			c.finish(j, "", whyWrite)
			continue
		}
		c.finish(j, path, "")
	}
}

// report reports the first error.
func (c *capturer) report(err error) {
	if !c.reported {
		c.reported = true
		c.entry.Report(fmt.Errorf("keep a slow request: %w: mend it there; from now on such errors are only counted, in otelgc.monitor.dropped", err))
	}
}

// Close implements [entry.Capturer].
func (c *capturer) Close(ctx context.Context) {
	c.mu.Lock()
	if !c.closed {
		c.closed = true
		close(c.queue)
	}
	c.mu.Unlock()
	select {
	case <-c.ended:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for j := range c.waiting {
		delete(c.waiting, j)
		j.done("", entry.WhyShutdown)
	}
}

// at returns the wall clock at an instant of the monitor's.
func (c *capturer) at(t stall.Instant) time.Time {
	now := time.Now()
	return now.Add(t.Sub(c.entry.Instant(now)))
}
