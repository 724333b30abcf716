package dotnetipc

import (
	"context"
	"fmt"
	"net"
)

// Caller is a runtime that dialled a Listener.
type Caller struct {
	*Client
	// Identity is that of its process here, zero if it cannot be seen from here.
	Identity
	Cookie Cookie
	// InnerPID is its number for itself.
	InnerPID uint64

	listener *Listener
	key      callerKey
	uid      int
	pending  chan net.Conn // the connection that the next command takes
}

// callerKey names a runtime: by its process, of which it is the only one, or by its
// user and cookie where the process cannot be seen. A cookie is no secret, and
// any process can make one up.
type callerKey struct {
	Identity
	uid    int
	cookie Cookie
}

// take waits for the runtime to dial. It does so at once after each command.
func (c *Caller) take(ctx context.Context) (net.Conn, error) {
	select {
	case conn := <-c.pending:
		return conn, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: it has not dialled again", ErrNoAnswer)
	case <-c.listener.done:
		return nil, net.ErrClosed
	}
}

// drop closes the connection that waits, if there is one.
func (c *Caller) drop() {
	select {
	case conn := <-c.pending:
		_ = conn.Close()
	default:
	}
}

// Forget ends what the listener knows of a runtime that is gone. If it dials
// again it is a new one.
func (c *Caller) Forget() {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.listener.callers[c.key] == c {
		delete(c.listener.callers, c.key)
	}
	c.drop()
}
