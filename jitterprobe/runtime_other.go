//go:build !linux

package jitterprobe

import (
	"fmt"
	"runtime"

	"github.com/otelgc/otelgc/stall"
)

func startRuntime(int, Options) (engine, error) {
	return nil, fmt.Errorf("start probe: %w: runtime mode on %s", stall.ErrNotSupported, runtime.GOOS)
}
