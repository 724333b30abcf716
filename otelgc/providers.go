package otelgc

import (
	"fmt"
	"os"

	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"

	"github.com/otelgc/otelgc/internal/telemetry"
	"github.com/otelgc/otelgc/stall"
)

// newTelemetry makes the instruments. A provider that panics, as one that is a nil
// pointer does, is an error.
func newTelemetry(c config, clock stall.Clock, boot string, panics *panics) (tel *telemetry.Telemetry, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("make instruments with %T and %T: panic: %v", c.meters, c.loggers, r)
		}
	}()
	return telemetry.New(telemetry.Options{
		Meter:     c.meters.Meter(ScopeName, metric.WithInstrumentationVersion(Version)),
		Logger:    c.loggers.Logger(ScopeName, log.WithInstrumentationVersion(Version)),
		BootID:    boot,
		PID:       os.Getpid(),
		GoMetrics: true,
		Clock:     clock,
		Detached:  true, OnPanic: panics.tell,
	})
}
