//go:build !linux

package hostwatch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

	"github.com/otelgc/otelgc/internal/hostcount"
	"github.com/otelgc/otelgc/stall"
	"github.com/otelgc/otelgc/stall/gc"
	"github.com/otelgc/otelgc/stall/source"
)

// Watch watches one process. There is none on this system.
type Watch struct{}

// New returns errors.ErrUnsupported: what a watch reads is Linux's.
func New(o Options) (*Watch, error) {
	return nil, fmt.Errorf("watch process %d: %w on %s: there is no /proc", o.PID, errors.ErrUnsupported, runtime.GOOS)
}

// Exact reports false.
func (w *Watch) Exact() (ok bool, why error) { return false, errors.ErrUnsupported }

// Owner returns the zero Owner.
func (w *Watch) Owner() stall.Owner { return stall.Owner{} }

// Totals returns nothing.
func (w *Watch) Totals() hostcount.Totals { return hostcount.Totals{} }

// During returns nothing.
func (w *Watch) During(stall.Span) gc.HostDuring { return gc.HostDuring{} }

// Next returns io.EOF.
func (w *Watch) Next(context.Context) (source.Batch, error) { return source.Batch{}, io.EOF }

// Observations returns nothing.
func (w *Watch) Observations() *Observations { return new(Observations) }

// Close does nothing.
func (w *Watch) Close() error { return nil }
