//go:build !linux

package board

import (
	"fmt"
	"os"
	"runtime"

	"github.com/otelgc/otelgc/stall"
)

// files is never made here.
type files struct{ board *os.File }

func openBoard(path string) (*os.File, int64, error) { return nil, 0, notSupported(path) }

func createFiles(path string, _ int64) (*files, error) { return nil, notSupported(path) }

func (*files) publish() error { return nil }
func (*files) remove() error  { return nil }
func (*files) discard() error { return nil }
func (*files) close() error   { return nil }

func notSupported(path string) error {
	return fmt.Errorf("%s: %w on %s", path, stall.ErrNotSupported, runtime.GOOS)
}
