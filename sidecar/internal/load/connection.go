package load

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// connection is one keep-alive connection that carries one request at a time: who
// has it free sends, and its own goroutine reads the answers. It is not an
// http.Client: that one runs two goroutines per connection, and a third would hand it
// each request, whose own waiting for a CPU would be counted as the service's.
type connection struct {
	address string
	conn    net.Conn // nil while it is not open
	socket  *stamped // what is read of conn
	read    *bufio.Reader

	free  stall.Instant // since when it is, for who takes it
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

// hangUp ends the connection; who reads gets an error.
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
