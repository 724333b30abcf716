//go:build !linux

package tracefs

import (
	"fmt"
	"runtime"

	"github.com/otelgc/otelgc/stall"
)

// mount returns [stall.ErrNotSupported]: tracefs is Linux's.
func mount() (*FS, error) {
	return nil, fmt.Errorf("open tracefs: %w on %s", stall.ErrNotSupported, runtime.GOOS)
}
