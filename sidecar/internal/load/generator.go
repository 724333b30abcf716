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
	n := min(o.Connections, len(o.Schedule))
	r := &run{
		Options: o,
		out:     Outcome{Answers: make([]Answer, len(o.Schedule))},
		free:    make(chan *connection, n),
	}
	var readers, warm sync.WaitGroup
	for range n {
		warm.Add(1)
		readers.Go(func() { r.read(warm.Done) })
	}
	warm.Wait()
	defer prompt()()
	r.out.Start = o.Clock.Now().Add(leadTime)
	for i, at := range o.Schedule {
		r.out.Answers[i].Arrival = r.out.Start.Add(at)
	}
	r.deadline = r.out.Start.Add(o.Schedule.Span() + o.Grace)
	r.dispatch(ctx)
	for range n {
		c := <-r.free // when the last of its answers is there, or given up
		close(c.asked)
		c.hangUp()
	}
	readers.Wait()
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
	free     chan *connection // the longest free first
	deadline stall.Instant
	failure  sync.Once
}

// dispatch sends each request at its time. It may have to wait where every
// connection is busy; the arrivals stay where they are.
func (r *run) dispatch(ctx context.Context) {
	pace, stop := newPacer(r.Clock)
	defer stop()
	for i := range r.out.Answers {
		pace.until(ctx, r.out.Answers[i].Arrival)
		select {
		case c := <-r.free:
			r.send(i, c)
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			return
		}
	}
}

// send sends request i, unless it is too late for that.
func (r *run) send(i int, c *connection) {
	a := &r.out.Answers[i]
	now := r.Clock.Now()
	if now > r.deadline {
		r.free <- c
		return
	}
	a.Ready, a.Sent = max(a.Arrival, c.free), now
	if err := c.send(r.request(i, a.Arrival), min(r.Timeout, r.deadline.Sub(now))); err != nil {
		r.fail(err)
	}
	c.asked <- i
}

// read keeps a connection, and reads what is answered on it.
func (r *run) read(warm func()) {
	c := &connection{address: r.Address, asked: make(chan int, 1)}
	defer c.close()
	// The first request on a connection pays for the connection, which is not
	// what is measured. If it fails the measured ones will say so.
	err := c.open(warmLimit)
	if err == nil && c.send(r.request(0, 0), warmLimit) == nil && c.answer() != nil {
		c.close()
	}
	for warm(); ; {
		err := c.open(warmLimit)
		if c.conn != nil {
			_ = c.conn.SetDeadline(time.Time{}) // one that is closed fails when it is read
		}
		c.free = r.Clock.Now()
		r.free <- c
		if err == nil {
			err = c.answer()
		}
		receipt, age, stamped := r.Clock.Now(), time.Duration(0), false
		if err == nil {
			age, stamped = c.age()
		}
		i, more := <-c.asked
		switch a := &r.out.Answers[i]; {
		case !more:
			return
		case err != nil:
			r.fail(err)
			c.close()
		default:
			a.Receipt = receipt
			if stamped && age < receipt.Sub(a.Sent) {
				a.Came = receipt.Add(-age)
			}
		}
	}
}

func (r *run) fail(err error) { r.failure.Do(func() { r.out.Failure = err }) }

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
