//go:build !linux

package dotnet

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/stall"
)

func namespaceOffset(stall.Clock, int) (time.Duration, error) {
	return 0, fmt.Errorf("read time namespace on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func MadeAt(clock stall.Clock, _ uint64) stall.Instant { return clock.Now() }
