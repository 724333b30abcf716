//go:build !linux

package load

import (
	"context"
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
