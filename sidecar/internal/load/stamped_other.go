//go:build !linux

package load

import (
	"io"
	"net"
	"time"
)

// stamped reads a connection. When the kernel had what was read is not known.
type stamped struct {
	io.Reader
	came time.Time
}

func newStamped(conn net.Conn) *stamped { return &stamped{Reader: conn} }
