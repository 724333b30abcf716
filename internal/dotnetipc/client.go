package dotnetipc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// Client sends commands to one runtime. Each goes over a connection of its own:
// that is the protocol. It may be used by several goroutines.
type Client struct {
	// Timeout bounds one command; DefaultTimeout if zero.
	Timeout time.Duration

	name string // for errors
	dial func(context.Context) (net.Conn, error)
}

// NewClient returns a client of the runtime that listens at e.
func NewClient(e Endpoint) *Client {
	return &Client{name: e.String(), dial: e.dial}
}

// String returns the name of the runtime, for messages.
func (c *Client) String() string { return c.name }

func (c *Client) timeout() time.Duration {
	if c.Timeout > 0 {
		return c.Timeout
	}
	return DefaultTimeout
}

// Resume lets a runtime go on that waits for it at its start
// (DOTNET_DiagnosticPorts with suspend). It does nothing to one that runs.
func (c *Client) Resume(ctx context.Context) error {
	if _, err := c.ask(ctx, resumeRuntime, nil); err != nil {
		return fmt.Errorf("resume %v: %w", c, err)
	}
	return nil
}

// ask sends a command and returns the payload of the answer.
func (c *Client) ask(ctx context.Context, cmd command, payload []byte) ([]byte, error) {
	conn, answer, err := c.send(ctx, cmd, payload)
	if err != nil {
		return nil, err
	}
	return answer, conn.Close()
}

// send sends a command and returns the connection behind the answer. The
// message is whole before the connection is made: see the package's comment.
func (c *Client) send(ctx context.Context, cmd command, payload []byte) (net.Conn, []byte, error) {
	message, err := encode(cmd, payload)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout())
	defer cancel()
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, nil, err
	}
	answer, err := exchange(ctx, conn, message)
	if err != nil {
		_ = conn.Close()
		return nil, nil, c.explain(cmd, err)
	}
	return conn, answer, nil
}

// exchange writes a message and reads the answer before ctx ends.
func exchange(ctx context.Context, conn net.Conn, message []byte) ([]byte, error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return nil, err
		}
	}
	// Cancelling ends a read under way.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := conn.Write(message); err != nil {
		return nil, fmt.Errorf("send: %w", err)
	}
	answer, err := reply(conn)
	if err != nil {
		return nil, err
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	return answer, conn.SetDeadline(time.Time{})
}

func (c *Client) explain(cmd command, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%v: %w within %v: a debugger holds the process, or another client holds its diagnostics server", cmd, ErrNoAnswer, c.timeout())
	}
	return fmt.Errorf("%v: %w", cmd, err)
}
