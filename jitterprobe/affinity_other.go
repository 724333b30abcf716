//go:build !linux

package jitterprobe

import (
	"fmt"
	"runtime"

	"github.com/otelgc/otelgc/stall"
)

// allowedCPUs returns none: threads cannot be pinned here.
func allowedCPUs() ([]int, error) { return nil, nil }

// Reserve returns [stall.ErrNotSupported].
func Reserve(cpu int) (restore func() error, err error) {
	return nil, fmt.Errorf("reserve cpu %d: %w on %s", cpu, stall.ErrNotSupported, runtime.GOOS)
}
