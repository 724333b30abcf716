//go:build !linux

package jitterprobe

import (
	"fmt"
	"runtime"
	"time"

	"github.com/otelgc/otelgc/stall"
)

// allowedCPUs returns none: threads cannot be pinned here.
func allowedCPUs() ([]int, error) { return nil, nil }

// onThread calls f: a goroutine runs where it is put.
func onThread(_ int, f func(tid int, err error)) { f(0, nil) }

// Reserve returns [stall.ErrNotSupported].
func Reserve(cpu int) (restore func() error, err error) {
	return nil, fmt.Errorf("reserve cpu %d: %w on %s", cpu, stall.ErrNotSupported, runtime.GOOS)
}

// readOwn returns nil: nothing is known of threads here.
func readOwn(int) *Own { return nil }

// compareCPUs compares none: threads cannot be pinned here.
func compareCPUs(float64) (apart time.Duration, compared int, err error) { return 0, 0, nil }
