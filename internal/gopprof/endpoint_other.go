//go:build !linux

package gopprof

import (
	"errors"
	"fmt"
	"runtime"
)

func listening(int) ([]string, error) {
	return nil, fmt.Errorf("look for sockets on %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func owns(int, string) (bool, error) { return false, errors.ErrUnsupported }
