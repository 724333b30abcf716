package otelgc

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
)

// exporter is a provider of meters that exports when it is asked to, as the SDK's
// does.
type exporter interface {
	ForceFlush(ctx context.Context) error
}

// lastExport bounds what the end of a monitor waits for a Collector. An export
// that takes longer is the provider's to finish or to give up.
const lastExport = time.Second

// exportLast has the provider export what the observed metrics say last: their
// callbacks end with the monitor, and the provider's own last export finds none.
// What goes wrong is the provider's to tell, which exports once more when it ends.
func (m *Monitor) exportLast(ctx context.Context) {
	e, ok := m.meters.MeterProvider.(exporter)
	if !ok && m.meters.global {
		// Until the program sets the global provider, that is a stand-in, which exports
		// nothing and hands its instruments on to the one that is set.
		e, ok = otel.GetMeterProvider().(exporter)
	}
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, lastExport)
	defer cancel()
	m.panics.safely("metric_export", "the provider of meters", func() { _ = e.ForceFlush(ctx) })
}
