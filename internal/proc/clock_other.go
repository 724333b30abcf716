//go:build !linux

package proc

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// TimeNamespace is not supported here.
func TimeNamespace(stall.Clock, int) (time.Duration, error) {
	return 0, fmt.Errorf("read time namespace on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

// MadeAt returns the time of the call: it is not known here.
func MadeAt(clock stall.Clock, _ uint64) stall.Instant { return clock.Now() }
