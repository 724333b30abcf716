package dotnetipc

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/otelgc/otelgc/internal/hungcall"
)

// peer is the process at the other end of a socket as it was when it listened or
// connected: its number in this process's pid namespace, 0 if it cannot be seen from
// here, and its user.
type peer struct{ pid, uid int }

// Endpoint is where the runtime of one process listens.
type Endpoint struct {
	Identity
	// Root is the root directory of the process as this process sees it, Dir
	// and Name the socket in it.
	Root, Dir, Name string
	// Calls bounds the calls for it that hang; a nil one bounds none.
	Calls *hungcall.Limiter
}

// Path returns the path of the socket.
func (e Endpoint) Path() string { return filepath.Join(e.Root, e.Dir, e.Name) }

// String names the process, for messages.
func (e Endpoint) String() string { return fmt.Sprintf("process %d", e.PID) }

func (e Endpoint) dial(ctx context.Context) (net.Conn, error) {
	conn, err := hungcall.Do(ctx, e.Calls, e.PID, func() (net.Conn, error) { return dial(ctx, e) })
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", legible(e.Path()), err)
	}
	return conn, nil
}
