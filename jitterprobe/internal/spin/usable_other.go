//go:build !linux

package spin

import (
	"fmt"
	"runtime"

	"github.com/otelgc/otelgc/stall"
)

// Usable returns [stall.ErrNotSupported]: only Linux says whether the counter
// can be trusted.
func Usable(string) error {
	return fmt.Errorf("cycle counter: %w on %s", stall.ErrNotSupported, runtime.GOOS)
}
