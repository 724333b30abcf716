//go:build !linux

package board

import (
	"fmt"
	"os"
	"runtime"

	"github.com/otelgc/otelgc/stall"
)

func openFile(path string, _ int) (*os.File, int64, error) {
	return nil, 0, fmt.Errorf("%s: %w on %s", path, stall.ErrNotSupported, runtime.GOOS)
}

func movedAway(*os.File, string) bool { return false }

// createFile returns [stall.ErrNotSupported].
func createFile(path string, _ int64) (*os.File, *os.File, error) {
	return nil, nil, fmt.Errorf("%s: %w on %s", path, stall.ErrNotSupported, runtime.GOOS)
}
