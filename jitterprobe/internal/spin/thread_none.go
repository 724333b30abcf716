//go:build !linux || !(amd64 || arm64) || noasm

package spin

import (
	"fmt"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// Supported reports whether this build has the loops.
const Supported = false

// BlockLen is the number of iterations between two looks at the stop flag.
const BlockLen = 1024

// Thread is a running loop. In this build there is none.
type Thread struct {
	Ring
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

var start = time.Now()

// Nanotime returns the time since the program began.
func Nanotime() int64 { return int64(time.Since(start)) }

// Syscall returns at once.
func Syscall(prev, threshold, n uint64) (left, last, now, out uint64) { return 0, prev, prev, prev }

// Sleep sleeps until deadline, of [Nanotime]. What the machine and what the runtime took
// is not known apart.
func Sleep(deadline int64) (woken, out int64) {
	time.Sleep(time.Duration(deadline - Nanotime()))
	now := Nanotime()
	return now, now
}
