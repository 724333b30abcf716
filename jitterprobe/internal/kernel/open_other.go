//go:build !linux

package kernel

import (
	"fmt"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Open opens nothing: only Linux keeps such records.
func Open(_, _ int, _ bool, clock stall.Clock) (*View, Rights) {
	err := fmt.Errorf("records of the kernel: %w on %s", stall.ErrNotSupported, runtime.GOOS)
	return &View{clock: clock}, Rights{Thread: err, CPU: err}
}

func device(uint32) string { return "" }

// Slept reports false: no clock shows it here.
func Slept() (time.Duration, bool) { return 0, false }

// Realtime reports false: it is not known.
func Realtime(int) bool { return false }
