//go:build !linux || !(amd64 || arm64) || noasm

package rawspin

import (
	"fmt"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/jitterprobe/internal/ring"
	"github.com/otelgc/otelgc/stall"
)

// Supported reports whether this build has the assembly.
const Supported = false

// BlockLen is the number of iterations between two looks at the stop flag.
const BlockLen = 1024

// Thread is a running loop. In this build there is none.
type Thread struct {
	ring.Ring
}

// Start returns [stall.ErrNotSupported].
func Start(int, uint64, int) (*Thread, error) {
	return nil, fmt.Errorf("start probe thread: %w on %s/%s or without assembly", stall.ErrNotSupported, runtime.GOOS, runtime.GOARCH)
}

// Begin does nothing.
func (t *Thread) Begin() {}

// ID returns 0.
func (t *Thread) ID() int { return 0 }

// Halt returns true.
func (t *Thread) Halt(time.Duration) bool { return true }

// Release does nothing.
func (t *Thread) Release() error { return nil }
