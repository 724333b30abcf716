package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/otelgc/otelgc/internal/otelenv"
	"github.com/otelgc/otelgc/otelgc"
)

// shutdownTimeout bounds the shutdown that Start returns; monitorShare is the
// part of it that the monitor may take from the exporters.
const (
	shutdownTimeout = otelenv.ShutdownTimeout
	monitorShare    = 0.5
)

// ending is the shutdown that Start returns.
type ending struct {
	monitor    *otelgc.Monitor
	providers  *otelenv.Providers
	complaints *otelenv.Complaints // nil where the program handles errors itself
	once       sync.Once
}

// end stops the monitor first: what it sends last must still be exported.
func (e *ending) end(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	deadline, _ := ctx.Deadline()
	early, done := context.WithTimeout(ctx, time.Duration(float64(time.Until(deadline))*monitorShare))
	defer done()
	monitorErr := e.monitor.Shutdown(early)
	if monitorErr != nil {
		monitorErr = fmt.Errorf("stop monitor: %w", monitorErr)
	}
	if e.complaints != nil { // the error below says what they would
		e.complaints.End()
		defer e.complaints.Resume()
	}
	providersErr := e.providers.Shutdown(ctx)
	e.once.Do(func() { e.sayLost(ctx, e.providers.Unexported(providersErr)) })
	if err := otelenv.Join(monitorErr, providersErr); err != nil {
		return fmt.Errorf("otelgc/otlp: shutdown: %w", err)
	}
	return nil
}

// sayLost says what never reached a Collector. Whoever logs it, or handles it, may wait
// for anything, and panic.
func (e *ending) sayLost(ctx context.Context, lost *otelenv.Unexported) {
	if lost == nil {
		return
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		defer func() { _ = recover() }() // there is nobody else to say it to
		const what = "not all telemetry was exported"
		if e.complaints != nil {
			slog.Warn(what, lost.Facts()...)
		} else {
			otel.Handle(errors.New("otelgc/otlp: " + what + ": " + lost.String()))
		}
	}()
	select {
	case <-said:
	case <-ctx.Done():
	}
}
