//go:build !linux || !amd64

package gouprobe

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/source"
)

// Source sees the stops of a Go process. There is none on this system.
type Source struct{}

// Supported returns stall.ErrNotSupported.
func Supported() error {
	return fmt.Errorf("%w: %s/%s, want linux/amd64", stall.ErrNotSupported, runtime.GOOS, runtime.GOARCH)
}

// Attach returns stall.ErrNotSupported: the probes are for Linux on amd64.
func Attach(o Options) (*Source, error) {
	return nil, fmt.Errorf("attach to process %d: %w", o.PID, Supported())
}

// Next returns io.EOF.
func (s *Source) Next(context.Context) (source.Batch, error) { return source.Batch{}, io.EOF }

// Evidence returns nothing.
func (s *Source) Evidence(int) string { return "" }

// Status returns nothing.
func (s *Source) Status() source.Status { return source.Status{Origin: stall.GoUprobe} }

// Close does nothing.
func (s *Source) Close() error { return nil }
