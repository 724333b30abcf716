package load

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Options say whom to drive, and with what.
type Options struct {
	Address  string // host:port of an HTTP/1.1 server
	Schedule Schedule
	Clock    stall.Clock
	// Path returns the path and query of request i. It is called by many
	// goroutines.
	Path func(i int) string
	// Header is the request header that carries the intended start, decimal
	// nanoseconds of CLOCK_MONOTONIC.
	Header string
	// Connections bounds how many requests are under way at once, 128 if zero.
	// Those that find none free wait, and their latency counts the wait.
	Connections int
	// Timeout bounds one request from its sending, 10 s if zero.
	Timeout time.Duration
	// Grace is how long after the last arrival the run may go on; what was not
	// sent by then is not sent at all. 3 s if zero.
	Grace time.Duration
}

// Answer is what became of one request.
type Answer struct {
	Arrival stall.Instant // the intended start
	Sent    stall.Instant // when a connection took it; zero if none did in time
	Receipt stall.Instant // when the whole answer was there; zero if it never was
}

// OK reports whether the request was answered.
func (a *Answer) OK() bool { return a.Receipt != 0 }

// Latency returns the time from the intended start to the receipt.
func (a *Answer) Latency() time.Duration { return a.Receipt.Sub(a.Arrival) }

// Outcome is a run: one Answer per arrival, in order.
type Outcome struct {
	Start   stall.Instant // the instant of offset zero
	Answers []Answer
	// Failure is one of the errors, if there was any.
	Failure error
}

// Run drives the service and returns when every request of the schedule was
// answered, failed or given up. It leaves no goroutine behind. If ctx ends
// before that, what was not sent is left out, as not sent; what is under way is
// waited for.
func Run(ctx context.Context, o Options) Outcome {
	o = o.withDefaults()
	end := o.Schedule.Span() + o.Grace
	r := &run{
		Options: o,
		out:     Outcome{Answers: make([]Answer, len(o.Schedule))},
		ready:   make(chan int, o.Connections),
	}
	var workers, warm sync.WaitGroup
	for range min(o.Connections, len(o.Schedule)) {
		warm.Add(1)
		workers.Go(func() { r.work(ctx, warm.Done) })
	}
	warm.Wait()
	r.out.Start = o.Clock.Now().Add(leadTime)
	for i, at := range o.Schedule {
		r.out.Answers[i].Arrival = r.out.Start.Add(at)
	}
	r.deadline = r.out.Start.Add(end)
	r.dispatch(ctx)
	close(r.ready)
	workers.Wait()
	return r.out
}

const (
	// leadTime is what the workers get to come to rest before the first arrival.
	leadTime = 50 * time.Millisecond
	// warmLimit bounds the opening of a connection and its first request.
	warmLimit = time.Second
)

func (o Options) withDefaults() Options {
	if o.Connections <= 0 {
		o.Connections = 128
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Grace <= 0 {
		o.Grace = 3 * time.Second
	}
	return o
}

type run struct {
	Options
	out      Outcome
	ready    chan int
	deadline stall.Instant
	failure  sync.Once
}

// dispatch hands out each request at its time. Handing out may block when every
// connection is busy; the arrivals stay where they are.
func (r *run) dispatch(ctx context.Context) {
	pace, stop := newPacer(r.Clock)
	defer stop()
	for i := range r.out.Answers {
		pace.until(ctx, r.out.Answers[i].Arrival)
		select {
		case r.ready <- i:
		case <-ctx.Done():
			return
		}
	}
}

func (r *run) work(ctx context.Context, warm func()) {
	conn := &connection{address: r.Address}
	defer conn.close()
	// The first request on a connection pays for the connection, which is not
	// what is measured. If it fails the measured ones will say so.
	_ = conn.exchange(r.request(0, 0), warmLimit)
	warm()
	for i := range r.ready {
		a := &r.out.Answers[i]
		now := r.Clock.Now()
		if ctx.Err() != nil || now > r.deadline {
			continue
		}
		a.Sent = now
		limit := now.Add(r.Timeout)
		err := conn.exchange(r.request(i, a.Arrival), min(limit, r.deadline).Sub(now))
		if err != nil {
			r.failure.Do(func() { r.out.Failure = err })
			continue
		}
		a.Receipt = r.Clock.Now()
	}
}

// request writes request i. One without an arrival is not counted by the
// service.
func (r *run) request(i int, arrival stall.Instant) []byte {
	b := make([]byte, 0, 160)
	b = append(b, "GET "...)
	b = append(b, r.Path(i)...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, r.Address...)
	if r.Header != "" && arrival != 0 {
		b = append(b, "\r\n"...)
		b = append(b, r.Header...)
		b = append(b, ": "...)
		b = strconv.AppendInt(b, int64(arrival), 10)
	}
	return append(b, "\r\n\r\n"...)
}
