package load

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// connection is one keep-alive connection that carries one request at a time.
// It is not an http.Client: that one runs two goroutines per connection, whose
// own waiting for a CPU would be counted as the service's.
type connection struct {
	address string
	conn    net.Conn
	read    *bufio.Reader
}

// exchange sends one request and reads the whole answer, within limit. After an
// error the next exchange opens a new connection.
func (c *connection) exchange(request []byte, limit time.Duration) error {
	deadline := time.Now().Add(limit)
	if c.conn == nil {
		d := net.Dialer{Deadline: deadline}
		conn, err := d.Dial("tcp", c.address)
		if err != nil {
			return fmt.Errorf("connect to service: %w", err)
		}
		c.conn, c.read = conn, bufio.NewReaderSize(conn, 16<<10)
	}
	if err := c.roundTrip(request, deadline); err != nil {
		c.close()
		return err
	}
	return nil
}

func (c *connection) roundTrip(request []byte, deadline time.Time) error {
	if err := c.conn.SetDeadline(deadline); err != nil {
		return fmt.Errorf("set deadline of request: %w", err)
	}
	if _, err := c.conn.Write(request); err != nil {
		return fmt.Errorf("send request: %w", err)
	}
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

func (c *connection) close() {
	if c.conn != nil {
		_ = c.conn.Close() // nothing is left to be written
		c.conn, c.read = nil, nil
	}
}
