package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/log"
)

// careful is the program's logger, as it is called on goroutines of our own:
// nobody stands above them who could stop a panic of the program's processors.
// Here it costs the event, counted, and not the program.
type careful struct {
	log.Logger
	t *Telemetry
}

func (c careful) Emit(ctx context.Context, r log.Record) {
	defer c.survive(ctx)
	c.Logger.Emit(ctx, r)
}

func (c careful) Enabled(ctx context.Context, p log.EnabledParameters) bool {
	defer c.survive(ctx)
	return c.Logger.Enabled(ctx, p)
}

func (c careful) survive(ctx context.Context) {
	if recover() != nil {
		c.t.countDropped(ctx, itemEvent, whyPanic, 1)
	}
}
