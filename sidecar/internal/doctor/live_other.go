//go:build !linux

package doctor

import (
	"errors"
	"fmt"
	"runtime"
)

// newLive returns errors.ErrUnsupported: what the doctor reads is Linux's.
func newLive() (live, error) {
	return live{}, fmt.Errorf("%w on %s: there is no /proc", errors.ErrUnsupported, runtime.GOOS)
}
