//go:build !linux

package load

import (
	"context"
	"io"
	"net"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// pacer waits with the runtime's timers, which may wake up to 1 ms late.
type pacer struct{ clock stall.Clock }

func newPacer(clock stall.Clock) (p pacer, stop func()) { return pacer{clock}, func() {} }

func (p pacer) until(ctx context.Context, t stall.Instant) {
	timer := time.NewTimer(t.Sub(p.clock.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// prompt changes nothing here.
func prompt() (back func()) { return func() {} }

// stamped reads a connection. When the kernel had what was read is not known.
type stamped struct {
	io.Reader
	came time.Time
}

func newStamped(conn net.Conn) *stamped { return &stamped{Reader: conn} }

// Apart gives this process no CPU of its own here.
func Apart() (own int, others []int, back func(), err error) { return -1, nil, func() {}, nil }

// On calls f.
func On(_ []int, f func() error) error { return f() }
