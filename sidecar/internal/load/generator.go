// Package load drives a service with arrivals that are fixed in advance.
//
// A request's latency counts from the instant at which it was to be sent,
// whether or not a connection was free then: a service that stalls is charged for all
// requests that had to wait, not only for the one that was under way (which would be
// coordinated omission).
package load

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Options are the service to drive, and what to send.
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
	n := min(cmp.Or(o.Connections, 128), len(o.Schedule))
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
	r.deadline = r.out.Start.Add(o.Schedule.Span() + Grace)
	r.dispatch(ctx)
	for range n {
		c := <-r.free // when the last of its answers is there, or given up
		close(c.asked)
		c.hangUp()
	}
	readers.Wait()
	return r.out
}

// Grace is how long after the last arrival a run may go on. What was not sent by then is
// not sent at all.
const Grace = 3 * time.Second

const (
	// leadTime is what the workers get to come to rest before the first arrival.
	leadTime = 50 * time.Millisecond
	// warmLimit bounds the opening of a connection and its first request.
	warmLimit = time.Second
	// timeout bounds one request from its sending.
	timeout = 10 * time.Second
)

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
	if err := c.send(r.request(i, a.Arrival), min(timeout, r.deadline.Sub(now))); err != nil {
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

// Answer is what became of one request.
type Answer struct {
	Arrival stall.Instant // the intended start
	Ready   stall.Instant // when it could be sent: at its arrival, or when the connection that took it became free
	Sent    stall.Instant // when it was; zero if no connection took it in time
	Came    stall.Instant // when the last of the answer came to this host's socket; zero if that is not known
	Receipt stall.Instant // when the whole answer was read; zero if it never was
}

// OK reports whether the request was answered.
func (a *Answer) OK() bool { return a.Receipt != 0 }

// Latency returns the time from the intended start to the receipt.
func (a *Answer) Latency() time.Duration { return a.Receipt.Sub(a.Arrival) }

// Late returns the time in which a request that could be sent was not: that is the
// generator's own, which had no CPU or was slow.
func (a *Answer) Late() stall.Span { return stall.Span{Start: a.Ready, End: a.Sent} }

// Back returns when the answer was out of the service's hands, at the latest. What
// is from then to the receipt is the generator's own, too.
func (a *Answer) Back() stall.Instant {
	if a.Came != 0 {
		return a.Came
	}
	return a.Receipt
}

// connection is one keep-alive connection that carries one request at a time. The
// dispatcher takes a free one and sends; its own goroutine reads the answers. It is not an
// http.Client: that one runs two goroutines per connection, and a third would hand it
// each request, and the third one's waiting for a CPU would count as the service's.
type connection struct {
	address string
	conn    net.Conn // nil while it is not open
	socket  *stamped // what is read of conn
	read    *bufio.Reader

	free  stall.Instant // since when it is
	asked chan int      // which request was sent, or that there will be none
}

// open connects within limit, unless it is connected.
func (c *connection) open(limit time.Duration) error {
	if c.conn != nil {
		return nil
	}
	d := net.Dialer{Timeout: limit}
	conn, err := d.Dial("tcp", c.address)
	if err != nil {
		return fmt.Errorf("connect to service: %w", err)
	}
	c.conn, c.socket = conn, newStamped(conn)
	c.read = bufio.NewReaderSize(c.socket, 16<<10)
	return nil
}

// send sends a request that is to be answered within limit. If it fails, so does
// the reading of the answer.
func (c *connection) send(request []byte, limit time.Duration) error {
	if c.conn == nil {
		return errors.New("send request: not connected")
	}
	err := c.conn.SetDeadline(time.Now().Add(limit))
	if err == nil {
		_, err = c.conn.Write(request)
	}
	if err != nil {
		c.hangUp()
		return fmt.Errorf("send request: %w", err)
	}
	return nil
}

// answer reads one whole answer, for which it may wait.
func (c *connection) answer() error {
	answer, err := http.ReadResponse(c.read, nil)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		return fmt.Errorf("read body of answer: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("read answer: status %s", answer.Status)
	}
	return nil
}

// hangUp ends the connection; its reader gets an error.
func (c *connection) hangUp() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is left to be written
	}
}

// age returns how long ago the last that was read came to the socket, if that is
// known.
func (c *connection) age() (time.Duration, bool) {
	if c.socket == nil || c.socket.came.IsZero() {
		return 0, false
	}
	// The kernel's stamp is of the wall clock, which may be stepped meanwhile.
	age := time.Now().Round(0).Sub(c.socket.came)
	return age, age >= 0
}

func (c *connection) close() {
	c.hangUp()
	c.conn, c.socket, c.read = nil, nil, nil
}
